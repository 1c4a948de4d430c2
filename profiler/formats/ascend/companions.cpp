// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/ascend/companions.hpp"

#include <simdjson.h>

#include <array>
#include <exception>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/input/input_file.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats::ascend {
namespace {

namespace dom = simdjson::dom;
namespace fs = std::filesystem;

constexpr std::int64_t kMostRanks = 1 << 24;

std::optional<std::int32_t> rank_from(std::int64_t number) {
  if (number < 0 || number >= kMostRanks) return std::nullopt;
  return static_cast<std::int32_t>(number);
}

// "profiler_info_3.json" names rank 3. With several such files the rank is unknown.
std::optional<std::int32_t> rank_in(const fs::path& folder) {
  constexpr std::string_view kPrefix = "profiler_info_", kSuffix = ".json";
  std::set<std::int32_t> ranks;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    std::string_view number = file;
    if (!number.starts_with(kPrefix) || !number.ends_with(kSuffix)) continue;
    number.remove_prefix(kPrefix.size());
    number.remove_suffix(kSuffix.size());
    if (const auto rank = rank_from(integer_of(number).value_or(-1))) ranks.insert(*rank);
  }
  return ranks.size() == 1 ? std::optional(*ranks.begin()) : std::nullopt;
}

std::string text_of(const fs::path& file) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  try {
    return read_input_file(file, {.bytes = kMostBytes}, GivenPipes::refused);
  } catch (const std::exception&) {
    return {};
  }
}

// {"parallel_group_info": {"group_name_0": {"group_name": "tp", "group_rank": 0, "global_ranks": [0, 1]}}}
std::vector<KinetoProcessGroup> groups_in(const fs::path& folder) {
  std::vector<KinetoProcessGroup> groups;
  const std::string text = text_of(folder / "profiler_metadata.json");
  dom::parser parser;
  dom::element metadata;
  dom::object list;
  if (text.empty() || parser.parse(text).get(metadata) != simdjson::SUCCESS) return groups;
  if (metadata["parallel_group_info"].get(list) != simdjson::SUCCESS) return groups;
  for (const auto& [name, value] : list) {
    KinetoProcessGroup group{.name = std::string(name), .description = {}, .size = 0, .ranks = {}};
    std::string_view description;
    dom::array ranks;
    if (value["group_name"].get(description) == simdjson::SUCCESS) group.description = std::string(description);
    if (value["global_ranks"].get(ranks) == simdjson::SUCCESS)
      for (const dom::element rank : ranks) {
        std::int64_t number = -1;
        if (rank.get(number) != simdjson::SUCCESS) continue;
        if (const auto valid = rank_from(number)) group.ranks.push_back(*valid);
      }
    group.size = static_cast<std::int32_t>(group.ranks.size());
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

Companions read_companions(const fs::path& trace) {
  const fs::path folder = trace.has_parent_path() ? trace.parent_path() : fs::path(".");
  Companions companions;
  for (const fs::path& place : {folder, folder / ".."}) {
    if (!companions.rank) companions.rank = rank_in(place);
    if (companions.groups.empty()) companions.groups = groups_in(place);
  }
  return companions;
}

}  // namespace underlap::formats::ascend
