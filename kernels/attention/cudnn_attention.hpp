// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attention/cudnn_attention_graph.hpp"
#include "kernels/cuda/launch_context.hpp"
#include "kernels/operation.hpp"

namespace underlap::cuda {

/// Attention of one device through cuDNN's fused engines, causal or not: bf16 in and out, fp32 sums and softmax.
///
/// A plan is made at the first use of a shape and kept; after that a pass is one look-up and one call. Backward adds dq
/// up by atomics, as Transformer Engine does; where LaunchContext::is_deterministic the same pass on the same device
/// gives the same bits, at the price of a workspace that grows with the square of the sequence. With several query
/// heads to a key/value head, their dk and dv pass through the workspace in bf16 (4 bytes for each element of q) and
/// are added from there in fp32.
///
/// cuDNN wants lse dense, sequence by sequence. That of one sequence is; of several, and where it is a part of another,
/// it passes through the workspace, with a copy for each sequence (4 bytes for each query and head, in either pass).
///
/// Further from the CPU implementation than our own kernels: probabilities and the gradients of scores are rounded to
/// bf16 before they are multiplied.
///
/// For one thread at a time, whose current device is the one that the object was made on.
class Attention {
 public:
  /// Makes a handle on the current device. Throws MachineError.
  explicit Attention(const CudnnApi& api);

  /// Enqueue attention_forward and attention_backward on the context's stream: views in the order that the operations
  /// declare them, in device memory, parameters included. Take the plan's workspace of the context's.
  /// Throw std::invalid_argument where a row does not begin on a multiple of 16 bytes, and MachineError naming the
  /// shape, with cuDNN's reason, where cuDNN refuses it: nothing else is tried.
  void forward(const Arguments& views, LaunchContext& context);
  void backward(const Arguments& views, LaunchContext& context);

  /// One line for each plan so far: pass, shape, engine and workspace.
  std::vector<std::string> choices() const;

 private:
  struct Key {
    bool backward = false;
    AttentionShape shape;
    DqSums dq_sums = DqSums::atomic;

    auto operator<=>(const Key&) const = default;
  };
  struct Pointer {
    AttentionTensor name;
    void* data;
  };

  const CudnnPlan& plan_for(const Key& key);
  void execute(const CudnnPlan& plan, std::vector<Pointer> pointers, const AttentionShape& shape, std::byte* workspace,
               const LaunchContext& context);

  CudnnApi api_;
  std::unique_ptr<cudnnContext, decltype(&cudnnDestroy)> handle_;
  std::map<Key, CudnnPlan> plans_;
};

}  // namespace underlap::cuda
