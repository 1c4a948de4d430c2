// SPDX-License-Identifier: Apache-2.0
// Context parallelism: which exchange each layer uses, and what the exchange asks of the sizes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/schema/paths.hpp"
#include "platform/suggestion.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kType = "model.cp_comm_type";
constexpr std::string_view kGroups = "model.hierarchical_context_parallel_sizes";
constexpr EnumNames<CpCommType, 4> kTypeNames{{"p2p", "all_gather", "a2a", "a2a+p2p"}};

/// One exchange for all layers, or one for each; a wrong one is reported and left out.
void read_types(Resolution& r) {
  if (!r.settings.given(kType)) return;
  const Value& written = r.settings[kType].value;
  const auto* by_layer = std::get_if<ValueList>(&written);
  const std::int64_t layers = r.config().model.num_layers;
  if (by_layer != nullptr && layers != std::int64_t(by_layer->size()))
    r.error(
        {kType},
        fmt::format("cp_comm_type lists {} layers, but num_layers is {}; list each layer, or write one type for all",
                    by_layer->size(), layers));
  std::vector<CpCommType> known;
  for (const Value& type : by_layer != nullptr ? *by_layer : ValueList{written}) {
    const auto* word = std::get_if<std::string>(&type);
    if (const auto found = kTypeNames.find(word != nullptr ? *word : ""))
      known.push_back(*found);
    else
      r.error(
          {kType},
          fmt::format("cp_comm_type must be one of {}, or a list with one for each layer, not {}{}",
                      fmt::join(kTypeNames.names, ", "), to_json_text(type),
                      did_you_mean(word != nullptr ? *word : "",
                                   std::vector<std::string_view>(kTypeNames.names.begin(), kTypeNames.names.end()))));
  }
  if (!known.empty()) r.config().context.cp_comm_type = std::move(known);
}

bool uses(const Resolution& r, CpCommType type) {
  const auto& types = r.plan.config.context.cp_comm_type;
  return std::ranges::find(types, type) != types.end();
}

/// Two sizes whose product is `cp`; nullopt where `written` is anything else.
std::optional<std::array<std::int32_t, 2>> group_sizes(const Value& written, std::int64_t cp) {
  const auto* list = std::get_if<ValueList>(&written);
  if (list == nullptr || list->size() != 2) return std::nullopt;
  std::array<std::int32_t, 2> sizes{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto* size = std::get_if<std::int64_t>(&(*list)[i]);
    if (size == nullptr || *size < 1 || *size > cp) return std::nullopt;
    sizes[i] = static_cast<std::int32_t>(*size);
  }
  return std::int64_t{sizes[0]} * sizes[1] == cp ? std::optional(sizes) : std::nullopt;
}

/// Megatron-LM checks the sizes wherever they are given.
void read_groups(Resolution& r) {
  const bool needed = uses(r, CpCommType::a2a_p2p);
  const std::int64_t cp = r.config().parallel.context_parallel_size;
  const auto sizes = group_sizes(r.settings[kGroups].value, cp);
  if ((needed || r.settings.given(kGroups)) && !sizes)
    r.error({kGroups, kType}, fmt::format("{} needs hierarchical_context_parallel_sizes; write two sizes whose product "
                                          "is context_parallel_size ({})",
                                          kTypeNames[CpCommType::a2a_p2p], cp));
  else if (needed)
    r.config().context.hierarchical_context_parallel_sizes = sizes;
  else
    r.warn_no_effect(kGroups, fmt::format("no layer's cp_comm_type is {}", kTypeNames[CpCommType::a2a_p2p]));
}

/// The ranks of an all-to-all split the heads of a rank. If these divide evenly, so do query heads.
void check_heads(Resolution& r) {
  const Config& c = r.config();
  const auto& groups = c.context.hierarchical_context_parallel_sizes;
  const std::int64_t split = uses(r, CpCommType::a2a) ? c.parallel.context_parallel_size : groups ? (*groups)[0] : 1;
  const std::int64_t heads =
      std::max<std::int64_t>(1, c.model.num_query_groups / c.parallel.tensor_model_parallel_size);
  if (c.model.num_query_groups > 0 && heads % split != 0)
    r.error({kType, kCp}, fmt::format("the key and value heads of a TP rank ({}) do not divide evenly among the {} "
                                      "ranks of an all-to-all; choose p2p, or other sizes",
                                      heads, split));
}

}  // namespace

void apply_cp_rules(Resolution& r) {
  read_types(r);
  if (!in_scope(Scope::cp, r)) return;
  read_groups(r);
  check_heads(r);
}

}  // namespace underlap::plan
