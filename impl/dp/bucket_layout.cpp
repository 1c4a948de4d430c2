// SPDX-License-Identifier: Apache-2.0
#include "impl/dp/bucket_layout.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

namespace underlap::dp {
namespace {

constexpr std::int64_t kParameterAlignment = 64;
constexpr std::int64_t kBucketAlignment = 128;
constexpr std::int64_t kHighBusBandwidthAlignment = std::int64_t{1} << 16;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void check(std::span<const Parameter> parameters, const BucketOptions& options) {
  if (options.data_parallel_size < 1)
    throw std::invalid_argument(
        fmt::format("data_parallel_size is {}; it must be at least 1", options.data_parallel_size));
  if (options.bucket_size && *options.bucket_size < 1)
    throw std::invalid_argument(
        fmt::format("bucket_size is {}; it must be at least 1 parameter", *options.bucket_size));
  for (const Parameter& parameter : parameters)
    if (parameter.elements() < 1) throw std::invalid_argument("parameter " + parameter.name + " is empty");
}

class Builder {
 public:
  Builder(std::size_t num_parameters, const BucketOptions& options) : options_(options) {
    layout_.offset_of.resize(num_parameters);
    layout_.bucket_of.resize(num_parameters);
    alignment_ = std::lcm(std::int64_t{options.data_parallel_size},
                          options.pad_buckets_for_high_nccl_busbw ? kHighBusBandwidthAlignment : kBucketAlignment);
  }

  void add(std::int32_t index, const Parameter& parameter) {
    if (parameter.shared_embedding) close();
    const std::int64_t offset = round_up(layout_.elements, kParameterAlignment);
    open_.parameters.push_back(index);
    layout_.offset_of[static_cast<std::size_t>(index)] = offset;
    layout_.bucket_of[static_cast<std::size_t>(index)] = layout_.num_buckets();
    layout_.elements = offset + parameter.elements();
    const bool is_full = options_.bucket_size && layout_.elements - open_.begin >= *options_.bucket_size;
    if (parameter.shared_embedding || is_full) close();
  }

  BucketLayout finish() {
    close();
    return std::move(layout_);
  }

 private:
  void close() {
    if (open_.parameters.empty()) return;
    layout_.elements = round_up(layout_.elements, alignment_);
    open_.end = layout_.elements;
    layout_.buckets.push_back(std::move(open_));
    open_ = {.begin = layout_.elements, .end = 0, .parameters = {}};
  }

  BucketOptions options_;
  std::int64_t alignment_ = 1;
  BucketLayout layout_;
  Bucket open_;
};

}  // namespace

BucketLayout lay_out(std::span<const Parameter> parameters, const BucketOptions& options) {
  check(parameters, options);
  Builder builder(parameters.size(), options);
  for (std::size_t i = parameters.size(); i-- > 0;) builder.add(static_cast<std::int32_t>(i), parameters[i]);
  return builder.finish();
}

}  // namespace underlap::dp
