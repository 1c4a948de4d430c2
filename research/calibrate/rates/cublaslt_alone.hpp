// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/cuda/launch_context.hpp"
#include "kernels/gemm/cublaslt_api.hpp"
#include "kernels/gemm/gemm.hpp"

namespace underlap::bench {

/// One matrix product as a plain program asks cuBLASLt for it: its first choice, with no reduction scheme forbidden.
/// What MatrixProducts, which forbids some, is measured against.
class CublasLtAlone {
 public:
  /// The shapes, types and leading dimensions of `call` count, not its pointers. Throws MachineError.
  CublasLtAlone(const cuda::CublasLtApi& api, const kernels::GemmCall& call, std::int64_t workspace_bytes);

  /// Enqueues a product of the same shape on the context's stream. Throws MachineError.
  void enqueue(const kernels::GemmCall& call, const cuda::LaunchContext& context);

 private:
  template <class T>
  using Handle = std::unique_ptr<T, cublasStatus_t (*)(T*)>;

  cuda::CublasLtApi api_;
  std::int64_t workspace_bytes_ = 0;
  Handle<cublasLtContext> library_;
  Handle<cublasLtMatmulDescOpaque_t> operation_;
  Handle<cublasLtMatrixLayoutOpaque_t> a_;
  Handle<cublasLtMatrixLayoutOpaque_t> b_;
  Handle<cublasLtMatrixLayoutOpaque_t> c_;
  cublasLtMatmulAlgo_t algorithm_{};
};

/// The product that a gemm_fprop, gemm_dgrad or gemm_wgrad is, on its bound views. Throws std::invalid_argument for
/// another operation.
kernels::GemmCall product_of(NameId operation, const Arguments& views);

}  // namespace underlap::bench
