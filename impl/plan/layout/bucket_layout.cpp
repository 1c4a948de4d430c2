// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/bucket_layout.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

namespace underlap::plan {
namespace {

constexpr std::int64_t kParameterAlignment = 64;
constexpr std::int64_t kBucketAlignment = 128;
constexpr std::int64_t kHighBusBandwidthAlignment = std::int64_t{1} << 16;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void check(std::span<const Parameter> parameters, const BucketOptions& options) {
  if (options.num_shards < 1)
    throw std::invalid_argument(fmt::format("num_shards is {}; it must be at least 1", options.num_shards));
  if (options.bucket_size && *options.bucket_size < 1)
    throw std::invalid_argument(
        fmt::format("bucket_size is {}; it must be at least 1 parameter", *options.bucket_size));
  for (const Parameter& parameter : parameters)
    if (parameter.elements() < 1) throw std::invalid_argument("parameter " + parameter.name + " is empty");
}

class BucketBuilder {
 public:
  BucketBuilder(std::size_t num_parameters, const BucketOptions& options) : options_(options) {
    layout_.offset_of.resize(num_parameters);
    layout_.bucket_of.resize(num_parameters);
    layout_.group_of.resize(num_parameters);
    layout_.fp8_index.resize(num_parameters, -1);
    alignment_ = std::lcm(std::int64_t{options.num_shards},
                          options.pad_buckets_for_high_nccl_busbw ? kHighBusBandwidthAlignment : kBucketAlignment);
  }

  void add(std::int32_t index, const Parameter& parameter) {
    const bool is_apart = parameter.shared_embedding && options_.pads;
    if (is_apart) close();
    open_.is_fp8 = parameter.is_fp8;
    if (parameter.is_fp8) layout_.fp8_index[static_cast<std::size_t>(index)] = layout_.num_fp8++;
    const std::int64_t offset = options_.pads ? round_up(layout_.elements, kParameterAlignment) : layout_.elements;
    open_.parameters.push_back(index);
    layout_.offset_of[static_cast<std::size_t>(index)] = offset;
    layout_.bucket_of[static_cast<std::size_t>(index)] = layout_.num_buckets();
    layout_.elements = offset + parameter.elements();
    const bool is_full = options_.bucket_size && layout_.elements - open_.begin >= *options_.bucket_size;
    if (is_apart || is_full) close();
  }

  void end_of_fp8() {
    close();
    layout_.fp8_elements = layout_.elements;
  }

  BucketLayout finish() {
    close();
    group_buckets();
    return std::move(layout_);
  }

 private:
  void close() {
    if (open_.parameters.empty()) return;
    if (options_.pads) layout_.elements = round_up(layout_.elements, alignment_);
    open_.end = layout_.elements;
    layout_.buckets.push_back(std::move(open_));
    open_ = {.begin = layout_.elements, .end = 0, .parameters = {}};
  }

  void group_buckets() {
    for (std::int32_t b = 0; b < layout_.num_buckets(); ++b) {
      const bool is_fp8 = layout_.buckets[static_cast<std::size_t>(b)].is_fp8;
      const bool joins = layout_.fp8_elements > 0 && !is_fp8 && !options_.one_bucket_a_group;
      if (!joins) layout_.groups.emplace_back();
      layout_.groups.back().push_back(b);
      for (const std::int32_t p : layout_.buckets[static_cast<std::size_t>(b)].parameters)
        layout_.group_of[static_cast<std::size_t>(p)] = layout_.num_groups() - 1;
    }
  }

  BucketOptions options_;
  std::int64_t alignment_ = 1;
  BucketLayout layout_;
  Bucket open_;
};

}  // namespace

BucketLayout lay_out(std::span<const Parameter> parameters, const BucketOptions& options) {
  check(parameters, options);
  BucketBuilder builder(parameters.size(), options);
  const auto add_all = [&](bool is_fp8) {
    for (std::size_t i = parameters.size(); i-- > 0;)
      if (parameters[i].is_fp8 == is_fp8) builder.add(static_cast<std::int32_t>(i), parameters[i]);
  };
  add_all(true);
  builder.end_of_fp8();
  add_all(false);
  return builder.finish();
}

}  // namespace underlap::plan
