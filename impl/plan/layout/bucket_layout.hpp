// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "impl/plan/layout/parameter.hpp"

namespace underlap::plan {

/// A range of the parameter and gradient buffers that one collective moves.
struct Bucket {
  std::int64_t begin = 0;                ///< elements from the start of the buffer
  std::int64_t end = 0;                  ///< padded, so that every rank's shard is whole
  std::vector<std::int32_t> parameters;  ///< in the order of the buffer
  bool is_fp8 = false;                   ///< all of its parameters are, or none

  std::int64_t elements() const { return end - begin; }
};

struct BucketOptions {
  std::optional<std::int64_t> bucket_size;  ///< parameters, not bytes; nullopt: one bucket
  std::int32_t num_shards = 1;              ///< equal ones, that every bucket is cut into
  bool pad_buckets_for_high_nccl_busbw = false;
  bool pads = true;                 ///< for shards: without them neither parameters nor buckets are aligned
  bool one_bucket_a_group = false;  ///< also where fp8 parameters would merge the others
};

/// Where each parameter lies, in elements. Parameters and gradients share the offsets; gradients are one buffer, fp8
/// parameters are its first fp8_elements elements and the other parameters what follows.
struct BucketLayout {
  std::vector<Bucket> buckets;
  std::vector<std::vector<std::int32_t>> groups;  ///< buckets that are sent as one, each bucket in one group
  std::vector<std::int32_t> group_of;             ///< by parameter
  std::vector<std::int64_t> offset_of;            ///< by parameter
  std::vector<std::int32_t> bucket_of;            ///< by parameter
  std::vector<std::int32_t> fp8_index;  ///< by parameter: its place among the fp8 parameters of the buffer; else -1
  std::int32_t num_fp8 = 0;
  std::int64_t elements = 0;      ///< of the whole buffer, padding included
  std::int64_t fp8_elements = 0;  ///< of these, those of fp8 buckets

  std::int32_t num_groups() const { return static_cast<std::int32_t>(groups.size()); }
  std::int32_t num_buckets() const { return static_cast<std::int32_t>(buckets.size()); }
};

/// Lays `parameters`, given in the order of the forward pass, out in reverse: bucket 0 holds the end of the model,
/// whose gradients come first.
///
/// A parameter starts at a multiple of 64 elements. A bucket is closed when it holds bucket_size parameters or more:
/// the size is a minimum. Its end is padded to a multiple of lcm(num_shards, 128), or of lcm(num_shards, 128, 2^16) for
/// high bus bandwidth. A shared embedding has its own bucket. Without shards nothing is padded, and a shared embedding
/// is in a bucket with others. fp8 parameters have their own buckets, which come first; each of these is a group. All
/// other buckets join the last group, the start of the model, so that they do not delay the earlier ones. Without fp8,
/// or with one_bucket_a_group, every bucket is a group.
///
/// Throws std::invalid_argument for bucket_size < 1, num_shards < 1 or an empty parameter. Source: Megatron Core,
/// distributed data parallel.
BucketLayout lay_out(std::span<const Parameter> parameters, const BucketOptions& options);

}  // namespace underlap::plan
