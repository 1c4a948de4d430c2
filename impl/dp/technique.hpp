// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "impl/device/device.hpp"
#include "impl/dp/bucket_layout.hpp"
#include "impl/plan/config.hpp"

namespace underlap::dp {

/// The buffers that data parallelism works on, on one rank. Weights and gradients are views into them.
struct Buffers {
  std::vector<Parameter> parameters;  ///< in the order of the forward pass
  BucketLayout layout;
  Group group;
  Tensor params;           ///< bf16 [layout.elements]
  Tensor grads;            ///< f32 or bf16 [layout.elements]: accumulated and sent in this type
  bool is_sharded = true;  ///< the distributed optimizer: each rank updates its shard of every bucket

  View bucket(const Tensor& buffer, std::int32_t b) const;
  /// What this rank updates: its part of the bucket, or all of it without the distributed optimizer.
  View shard(const Tensor& buffer, std::int32_t b) const;
  View weight(std::int32_t parameter) const;     ///< bf16 [rows, cols]
  View main_grad(std::int32_t parameter) const;  ///< [rows, cols]
};

/// What every technique of this folder works with. Communicators may be the same one.
struct Context {
  Device* device = nullptr;
  const Buffers* buffers = nullptr;
  Stream compute;
  Communicator reduce;
  Communicator gather;
  const plan::Config* config = nullptr;
};

/// Brings each bucket's gradients together over the data-parallel group.
class GradReduce {
 public:
  virtual ~GradReduce() = default;

  virtual void begin_step(std::int32_t step) = 0;

  /// In the last microbatch, an operation that adds to the gradients of `parameters` has been enqueued on the compute
  /// stream.
  virtual void after_wgrad(std::span<const std::int32_t> parameters) = 0;

  /// Makes the compute stream wait until every shard holds the gradient averaged over the group.
  virtual void finish() = 0;
};

/// Brings each bucket's updated parameters together before they are used.
class ParamGather {
 public:
  virtual ~ParamGather() = default;

  /// The shards were updated on the compute stream; the rest of each bucket is stale.
  virtual void begin_step(std::int32_t step) = 0;

  /// Makes the compute stream wait until `parameters`, which the next operation uses, are whole. Idempotent within a
  /// step.
  virtual void before_use(std::span<const std::int32_t> parameters) = 0;
};

/// A technique as `underlap list` shows it and as the plan chooses it.
template <class Interface>
struct TechniqueInfo {
  std::string_view name;
  std::string_view summary;  ///< what it does, in one line
  std::string_view exposed;  ///< what it leaves exposed
  bool (*in_effect)(const plan::Config&);
  std::unique_ptr<Interface> (*make)(const Context&);
};

/// All techniques linked in, sorted by name. For every configuration exactly one of each kind is in effect.
std::span<const TechniqueInfo<GradReduce>> grad_reduce_techniques();
std::span<const TechniqueInfo<ParamGather>> param_gather_techniques();

/// The one that `context.config` puts in effect.
std::unique_ptr<GradReduce> make_grad_reduce(const Context& context);
std::unique_ptr<ParamGather> make_param_gather(const Context& context);

/// Adds a technique when its file is linked in; the folder is an OBJECT library, so that no linker drops it.
struct RegisterTechnique {
  explicit RegisterTechnique(const TechniqueInfo<GradReduce>& info);
  explicit RegisterTechnique(const TechniqueInfo<ParamGather>& info);
};

}  // namespace underlap::dp
