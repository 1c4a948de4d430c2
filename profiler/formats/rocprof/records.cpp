// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/rocprof/records.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <optional>

#include "profiler/formats/kineto/arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats::rocprof {
namespace {

namespace ondemand = simdjson::ondemand;

// As for Chrome traces: differences of two times, and sums of many durations, stay in range.
constexpr std::int64_t kMostTimeNs = std::int64_t{1} << 61;
constexpr std::int64_t kMostDurationNs = std::int64_t{1} << 53;

// "dispatch_info", and in it "grid_size".
constexpr int kMostDepth = 3;

std::string_view text_of(ondemand::raw_json_string key) {
  const char* const text = key.raw();
  std::size_t length = 0;
  while (text[length] != '"') ++length;
  return {text, length};
}

std::uint32_t size_from(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::uint32_t>::max()));
}

// Where the number in `parent`.`key` belongs; nullptr where it is not needed.
std::int64_t* number_of(Record& record, std::string_view parent, std::string_view key) {
  if (parent.empty() || parent == "dispatch_info") {
    if (key == "start_timestamp") return &record.start_ns;
    if (key == "end_timestamp") return &record.end_ns;
    if (key == "kind") return &record.kind;
    if (key == "operation") return &record.operation;
    if (key == "thread_id") return &record.thread;
    if (key == "kernel_id") return &record.kernel;
    if (key == "bytes") return &record.shape.bytes;
  }
  if (parent == "correlation_id" && key == "internal") return &record.correlation;
  if (key != "handle") return nullptr;
  if (parent == "agent_id") return &record.agent;
  if (parent == "src_agent_id") return &record.source_agent;
  if (parent == "dst_agent_id") return &record.target_agent;
  if (parent == "queue_id") return &record.queue;
  return parent == "stream_id" ? &record.stream : nullptr;
}

void set_size(Record& record, std::string_view parent, char axis, std::int64_t number) {
  if (axis < 'x' || axis > 'z') return;
  const auto index = static_cast<std::size_t>(axis - 'x');
  if (parent == "grid_size") record.shape.grid[index] = size_from(number);
  if (parent == "workgroup_size") record.shape.block[index] = size_from(number);
}

// The writer counts work-items, as HSA does.
void count_blocks(LaunchShape& shape) {
  for (std::size_t i = 0; i < shape.grid.size(); ++i)
    if (shape.block[i] > 0) shape.grid[i] = shape.grid[i] / shape.block[i] + (shape.grid[i] % shape.block[i] > 0);
}

}  // namespace

// {"size": 184, "kind": 11, "operation": 2, "thread_id": 908, "correlation_id": {"internal": 3, "external": 0},
//  "start_timestamp": 63857000000000, "end_timestamp": 63857000350000, "dispatch_info": {"agent_id": {"handle": 37946},
//  "queue_id": {"handle": 17}, "kernel_id": 1, "workgroup_size": {"x": 256, "y": 1, "z": 1},
//  "grid_size": {"x": 65536, "y": 1, "z": 1}}, "stream_id": {"handle": 7}}
void RecordParser::take(ondemand::object object, Record& into, std::string_view parent, int depth) {
  for (ondemand::field field : object) {
    const std::string_view key = text_of(field.key());
    ondemand::value value = field.value();
    ondemand::object inner;
    if (depth < kMostDepth && value.get_object().get(inner) == simdjson::SUCCESS) {
      take(inner, into, key, depth + 1);
      continue;
    }
    const auto number = integer_of(token_text(value));
    if (!number) continue;
    if (key.size() == 1) set_size(into, parent, key.front(), *number);
    if (std::int64_t* const wanted = number_of(into, parent, key)) *wanted = *number;
  }
}

std::string_view RecordParser::parse(std::string_view text, Record& into) {
  into = {};
  padded_.assign(text);
  padded_.append(simdjson::SIMDJSON_PADDING, ' ');
  try {
    auto document = parser_.iterate(simdjson::padded_string_view(padded_.data(), text.size(), padded_.size()));
    if (document.error() == simdjson::MEMALLOC) throw std::bad_alloc();
    take(document.get_object(), into, {}, 0);
  } catch (const simdjson::simdjson_error&) {
    return "record that is not a JSON object";
  }
  if (into.start_ns < 0 || into.end_ns < 0) return "record without a time";
  if (into.start_ns > kMostTimeNs || into.end_ns > kMostTimeNs) return "invalid or overflowing time";
  if (into.end_ns < into.start_ns) return "negative duration";
  if (into.end_ns - into.start_ns > kMostDurationNs) return "invalid or overflowing duration";
  into.shape.bytes = std::max<std::int64_t>(0, into.shape.bytes);
  count_blocks(into.shape);
  return {};
}

}  // namespace underlap::formats::rocprof
