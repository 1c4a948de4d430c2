// SPDX-License-Identifier: Apache-2.0
// Context parallelism: which exchange each layer uses, and what the exchange asks of the sizes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "impl/plan/resolution.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kType = "model.cp_comm_type";
constexpr std::string_view kGroups = "model.hierarchical_context_parallel_sizes";
constexpr std::array<std::string_view, 4> kTypes = {"p2p", "all_gather", "a2a", "a2a+p2p"};

nlohmann::json tree_of(const Resolution& r, std::string_view path) {
  return nlohmann::json::parse(to_json_text(r.settings[path].value));
}

/// The exchanges in use; a wrong one is reported and left out.
std::vector<std::string> exchanges(Resolution& r) {
  if (!r.settings.given(kType)) return {"p2p"};
  nlohmann::json types = tree_of(r, kType);
  const std::int64_t layers = r.config().model.num_layers;
  if (!types.is_array())
    types = nlohmann::json::array({types});
  else if (layers != std::int64_t(types.size()))
    r.error({kType}, fmt::format("cp_comm_type lists {} layers, but num_layers is {}; list each layer, or write one "
                                 "word for all",
                                 types.size(), layers));
  std::vector<std::string> known;
  for (const auto& type : types) {
    const std::string word = type.is_string() ? type.get<std::string>() : "";
    if (std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end())
      known.push_back(word);
    else
      r.error({kType}, fmt::format("cp_comm_type must be one of {}, or a list of them with one for each layer",
                                   fmt::join(kTypes, ", ")));
  }
  return known;
}

/// Ranks of the all-to-all group inside a2a+p2p; 0 where they cannot be read.
std::int64_t check_groups(Resolution& r) {
  const nlohmann::json sizes = r.settings.given(kGroups) ? tree_of(r, kGroups) : nlohmann::json();
  const std::int64_t cp = r.config().parallel.context_parallel_size;
  const auto is_size = [&](const auto& size) { return size.is_number_integer() && size >= 1 && size <= cp; };
  if (sizes.is_array() && sizes.size() == 2 && std::all_of(sizes.begin(), sizes.end(), is_size) &&
      sizes[0].get<std::int64_t>() * sizes[1].get<std::int64_t>() == cp)
    return sizes[0].get<std::int64_t>();
  r.error({kGroups, kType}, fmt::format("a2a+p2p needs hierarchical_context_parallel_sizes: two sizes whose product is "
                                        "context_parallel_size ({})",
                                        cp));
  return 0;
}

}  // namespace

void check_context_parallelism(Resolution& r) {
  const std::int64_t cp = r.config().parallel.context_parallel_size;
  const auto types = exchanges(r);
  if (cp < 2) return;
  const auto uses = [&](std::string_view type) { return std::find(types.begin(), types.end(), type) != types.end(); };
  const std::int64_t inner = uses("a2a+p2p") ? check_groups(r) : 0;
  const std::int64_t split = uses("a2a") ? cp : inner;
  const std::int64_t heads = r.config().model.num_query_groups / r.config().parallel.tensor_model_parallel_size;
  if (split > 1 && heads % split != 0)
    r.error({kType},
            fmt::format("all-to-all splits the key and value heads of a TP rank ({}) over {} ranks; choose p2p, "
                        "or sizes that divide",
                        heads, split));
}

}  // namespace underlap::plan
