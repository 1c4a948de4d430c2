// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/header.hpp"

#include <simdjson.h>

#include <algorithm>
#include <limits>

#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/kineto/strings.hpp"

namespace underlap::formats {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::string_view, 10> kKept{"schemaVersion",
                                                 "host_name",
                                                 "cuda_runtime_version",
                                                 "cuda_driver_version",
                                                 "cupti_version",
                                                 "hip_runtime_version",
                                                 "hip_driver_version",
                                                 "roctracer_version",
                                                 "trace_id",
                                                 "traceName"};

std::string text_of(dom::element element) {
  std::string_view text;
  if (element.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  return element.is_object() || element.is_array() || element.is_null() ? "" : simdjson::minify(element);
}

std::optional<std::int32_t> int32_of(dom::element element) {
  const auto number = integer_of(text_of(element));
  using Limits = std::numeric_limits<std::int32_t>;
  if (!number || *number < 0 || *number > Limits::max()) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

// [{"id": 0, "name": "NVIDIA A100-PG509-200", "totalGlobalMem": 42297524224, ...}]
void take_devices(dom::element value, KinetoHeader& header) {
  dom::array devices;
  if (value.get_array().get(devices) != simdjson::SUCCESS) return;
  for (const dom::element device : devices) {
    dom::element id, name;
    if (device["id"].get(id) != simdjson::SUCCESS || device["name"].get(name) != simdjson::SUCCESS) continue;
    if (const auto number = int32_of(id)) header.device_names[*number] = text_of(name);
  }
}

constexpr std::int32_t kMostRanks = 1 << 24;

// {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}
KinetoProcessGroup group_of(dom::element value) {
  KinetoProcessGroup group;
  dom::element member;
  dom::array ranks;
  if (value["pg_name"].get(member) == simdjson::SUCCESS) group.name = text_of(member);
  if (value["pg_desc"].get(member) == simdjson::SUCCESS) group.description = text_of(member);
  if (value["pg_size"].get(member) == simdjson::SUCCESS)
    group.size = std::clamp(int32_of(member).value_or(0), 0, kMostRanks);
  if (value["ranks"].get_array().get(ranks) == simdjson::SUCCESS)
    for (const dom::element rank : ranks)
      if (const auto number = int32_of(rank)) group.ranks.push_back(*number);
  return group;
}

// {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1, "pg_config": [{...}], "nccl_version": "2.17.1"}
void take_distributed(dom::element value, KinetoHeader& header) {
  dom::element member;
  dom::array groups;
  if (value["rank"].get(member) == simdjson::SUCCESS) header.rank = int32_of(member);
  if (header.rank.value_or(0) > kMostRanks) header.rank.reset();
  for (const char* key : {"world_size", "nccl_version", "backend"})
    if (value[key].get(member) == simdjson::SUCCESS && !text_of(member).empty())
      header.metadata[key == std::string_view("backend") ? "distributed_backend" : key] = text_of(member);
  if (value["pg_config"].get_array().get(groups) == simdjson::SUCCESS)
    for (const dom::element group : groups)
      if (group.is_object()) header.groups.push_back(group_of(group));
}

bool is_kept(std::string_view key) { return std::find(kKept.begin(), kKept.end(), key) != kKept.end(); }

}  // namespace

// "schemaVersion": 1, "baseTimeNanoseconds": 1711964646000000000, "deviceProperties": [...], "distributedInfo": {...}
std::string_view KinetoHeader::take(std::string_view key, std::string_view value) {
  const bool is_base = key == "baseTimeNanoseconds";
  const bool is_needed = is_base || key == "deviceProperties" || key == "distributedInfo" || is_kept(key);
  if (!is_needed) return {};
  dom::parser parser;
  dom::element element;
  if (parser.parse(std::string(value)).get(element) != simdjson::SUCCESS) {
    const std::string mended = mended_json(value);
    if (parser.parse(mended).get(element) != simdjson::SUCCESS) return "member that is not valid JSON";
  }
  if (is_base) {
    const auto base = integer_of(text_of(element));
    if (!base || *base < 0 || *base > kMostTimeNs) return "invalid or overflowing base time";
    base_ns = *base;
    metadata["time_base_ns"] = std::to_string(base_ns);
  } else if (key == "deviceProperties") {
    take_devices(element, *this);
  } else if (key == "distributedInfo") {
    take_distributed(element, *this);
  } else if (const std::string text = text_of(element); !text.empty()) {
    metadata[std::string(key)] = text;
  }
  return {};
}

}  // namespace underlap::formats
