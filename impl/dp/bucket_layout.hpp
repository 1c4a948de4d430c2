// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "impl/dp/parameter.hpp"

namespace underlap::dp {

/// A stretch of the parameter and gradient buffers that one collective moves.
struct Bucket {
  std::int64_t begin = 0;                ///< elements from the start of the buffer
  std::int64_t end = 0;                  ///< padded, so that every rank's shard is whole
  std::vector<std::int32_t> parameters;  ///< in the order of the buffer

  std::int64_t elements() const { return end - begin; }
};

struct BucketOptions {
  std::optional<std::int64_t> bucket_size;  ///< parameters, not bytes; nullopt: one bucket
  std::int32_t data_parallel_size = 1;
  bool pad_buckets_for_high_nccl_busbw = false;
};

/// Where each parameter lies, in elements; parameters and gradients share the offsets.
struct BucketLayout {
  std::vector<Bucket> buckets;
  std::vector<std::int64_t> offset_of;  ///< by parameter
  std::vector<std::int32_t> bucket_of;  ///< by parameter
  std::int64_t elements = 0;            ///< of the whole buffer, padding included

  std::int32_t num_buckets() const { return static_cast<std::int32_t>(buckets.size()); }
};

/// Lays `parameters`, given in the order of the forward pass, out in reverse: bucket 0 holds the end of the model,
/// whose gradients come first.
///
/// A parameter begins at a multiple of 64 elements. A bucket is closed once it holds bucket_size parameters or more:
/// the size is a minimum. Its end is padded to a multiple of lcm(data_parallel_size, 128), or of
/// lcm(data_parallel_size, 128, 2^16) for high bus bandwidth. A shared embedding has a bucket of its own.
/// Throws std::invalid_argument for bucket_size < 1, data_parallel_size < 1 or an empty parameter.
/// Source: Megatron Core, distributed data parallel.
BucketLayout lay_out(std::span<const Parameter> parameters, const BucketOptions& options);

}  // namespace underlap::dp
