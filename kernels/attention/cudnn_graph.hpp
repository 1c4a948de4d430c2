// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/attention/cudnn_api.hpp"

namespace underlap::cuda {

/// The target of a plan: either a handle, whose device executes it, or (from cuDNN 9.8) a finalized description of a
/// device that need not be present. A plan for a description cannot be executed.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t device = nullptr;
};

/// Something that cuDNN can execute. Move-only; valid on its own.
struct CudnnPlan {
  std::vector<CudnnDescriptor> parts;  ///< what the plan was made of
  CudnnDescriptor plan;
  std::int64_t workspace_bytes = 0;
  std::int64_t engine = 0;  ///< cuDNN's number of it
};

/// A graph of operations on tensors of four dimensions, computed in fp32, to be fused into one plan.
class CudnnGraph {
 public:
  using Sizes = std::array<std::int64_t, 4>;

  struct Tensor {
    cudnnBackendDescriptor_t descriptor = nullptr;
    Sizes sizes{};
  };

  explicit CudnnGraph(const CudnnApi& api) : api_(api) {}

  /// A tensor in memory, known by `id`; its pointer is a multiple of `alignment` bytes. Strides count elements.
  Tensor in_memory(std::int64_t id, cudnnDataType_t type, const Sizes& sizes, const Sizes& strides,
                   std::int64_t alignment);
  /// One number that is passed by value, known by `id`.
  Tensor by_value(std::int64_t id, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  /// A tensor that is never in memory. Strides are those of a dense one unless they are given.
  Tensor between(const Sizes& sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  Tensor between(const Sizes& sizes, const Sizes& strides, cudnnDataType_t type);

  void matmul(const Tensor& a, const Tensor& b, const Tensor& c);
  /// y = mode(x).
  void pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& y);
  /// y = mode(x, b); `math` is what it is computed in.
  void pointwise(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b, const Tensor& y,
                 cudnnDataType_t math = CUDNN_DATA_FLOAT);
  /// y = x where `condition` holds, else `otherwise`.
  void select(const Tensor& x, const Tensor& otherwise, const Tensor& condition, const Tensor& y);
  /// y = the index along `axis`, in the shape of x.
  void index(const Tensor& x, std::int64_t axis, const Tensor& y);
  /// Reduces the dimensions that y has shrunk to 1.
  void reduce(cudnnReduceTensorOp_t how, const Tensor& x, const Tensor& y);
  /// y is x seen with other sizes and strides.
  void reshape(const Tensor& x, const Tensor& y);

  /// Makes the plan of the first engine that cuDNN's heuristics propose and that supports the graph. With
  /// `deterministic`, skips engines that cuDNN marks as not bitwise reproducible. The graph is used up.
  /// Throws MachineError with cuDNN's reason if there is no such engine.
  CudnnPlan plan(const CudnnTarget& target, bool deterministic);

 private:
  struct Attributes;

  cudnnBackendDescriptor_t keep(CudnnDescriptor descriptor);
  Tensor tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes, const Sizes& strides, std::int64_t alignment,
                cudnnBackendAttributeName_t special);
  void add_pointwise(cudnnBackendDescriptor_t how, const Tensor& x, const Tensor* b, const Tensor* condition,
                     const Tensor& y);
  cudnnBackendDescriptor_t pointwise_mode(cudnnPointwiseMode_t mode, cudnnDataType_t math, std::int64_t axis = -1);
  cudnnBackendDescriptor_t operation_graph(const CudnnTarget& target);
  std::vector<CudnnDescriptor> proposals(cudnnBackendDescriptor_t graph, const CudnnTarget& target);
  bool is_deterministic(cudnnBackendDescriptor_t config, std::int64_t& engine);

  const CudnnApi& api_;
  std::vector<CudnnDescriptor> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::int64_t next_id_ = 1000;  // of tensors between operations
};

}  // namespace underlap::cuda
