// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/foreign_arguments.hpp"

#include <algorithm>
#include <limits>

#include "profiler/formats/kineto/arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats {
namespace {

std::int64_t number_in(simdjson::ondemand::value value) { return integer_of(token_text(value)).value_or(-1); }

// The word after `key` in "regs:96 grid:24,1,1 block:512,1,1"; "" without it.
std::string_view word_after(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at > 0 && text[at - 1] != ' ') continue;
    const std::string_view rest = text.substr(at + key.size());
    return rest.substr(0, rest.find(' '));
  }
  return {};
}

std::array<std::uint32_t, 3> sizes_in(std::string_view list) {
  std::array<std::uint32_t, 3> sizes{};
  for (std::uint32_t& size : sizes) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::int64_t number = integer_of(list.substr(0, end)).value_or(0);
    size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::uint32_t>::max()));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return sizes;
}

}  // namespace

void KinetoForeignArguments::clear() {
  if (has_any_) foreign_ = {};
  has_any_ = false;
}

bool KinetoForeignArguments::take(const char* key, simdjson::ondemand::value value) {
  const bool is_known = take_of_xla(key, value) || take_of_ascend(key, value);
  has_any_ = has_any_ || is_known;
  return is_known;
}

// {"correlation_id": "4", "context_id": "$$1", "hlo_module": "jit_train_step", "hlo_op": "all-reduce-start.1",
//  "kernel_details": "regs:96 static_shared:0 dynamic_shared:0 grid:24,1,1 block:512,1,1 occ_pct:25"}
// {"correlation_id": "1", "memcpy_details": "kind_src:pinned kind_dst:device size:1048576 dest:0 async:1"}
bool KinetoForeignArguments::take_of_xla(const char* key, simdjson::ondemand::value value) {
  if (is_key(key, "correlation_id")) {
    foreign_.correlation = number_in(value);
  } else if (is_key(key, "hlo_op")) {
    foreign_.operation = names_.id_of(token_text(value));
  } else if (is_key(key, "step_num")) {
    foreign_.step = number_in(value);
  } else if (is_key(key, "device_ordinal")) {
    foreign_.is_of_host_executor = true;
  } else if (is_key(key, "kernel_details")) {
    const std::string_view text = token_text(value);
    foreign_.shape.grid = sizes_in(word_after(text, "grid:"));
    foreign_.shape.block = sizes_in(word_after(text, "block:"));
  } else if (is_key(key, "memcpy_details") || is_key(key, "memset_details")) {
    const std::int64_t bytes = integer_of(word_after(token_text(value), "size:")).value_or(0);
    foreign_.shape.bytes = std::max<std::int64_t>(0, bytes);
  } else {
    return false;
  }
  return true;
}

// {"Model Id": 4294967295, "Task Type": "AI_CORE", "Stream Id": 7, "Task Id": 7, "connection_id": 2}
// {"connection_id": 4, "model id": 4294967295, "data_type": "FP32", "alg_type": "RING-NA", "count": 2097152}
// {"stream id": 20, "task type": "Notify_Wait", "src rank": 0, "dst rank": 1, "size(Byte)": 0}
bool KinetoForeignArguments::take_of_ascend(const char* key, simdjson::ondemand::value value) {
  const auto stream = [&] { return integer_within<std::int32_t>(token_text(value), -1); };
  if (is_key(key, "Task Type")) {
    foreign_.operation = names_.id_of(token_text(value));
  } else if (is_key(key, "Stream Id")) {
    foreign_.stream = stream();
  } else if (is_key(key, "connection_id")) {
    foreign_.correlation = number_in(value);
  } else if (is_key(key, "stream id")) {
    foreign_.plane_stream = stream();
  } else if (is_key(key, "data_type")) {
    foreign_.dtype = names_.id_of(token_text(value));
  } else if (is_key(key, "count")) {
    foreign_.elements = std::max<std::int64_t>(0, number_in(value));
  } else {
    return false;
  }
  return true;
}

}  // namespace underlap::formats
