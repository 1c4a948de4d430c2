// SPDX-License-Identifier: Apache-2.0
//
// The three products of a linear layer on a GPU. The device code is cuBLASLt's: matrix_products.hpp says what is asked
// of it. 2 M N K flops and each operand once make M N K / (M N + N K + M K) flops a byte: bound by the tensor cores
// where that is above 150 (A100) to 300 (H100), all three near a thousand, and by memory where one of them is small.
#include <array>
#include <stdexcept>

#include "kernels/cuda/implementations.hpp"
#include "kernels/gemm/matrix_products.hpp"

namespace underlap::cuda {
namespace {

void multiply(const kernels::GemmCall& call, LaunchContext& context) {
  if (context.products == nullptr) throw std::invalid_argument("a matrix product was launched without cuBLASLt");
  context.products->enqueue(call, context);
}

void fprop_cuda(const Arguments& views, LaunchContext& context) { multiply(kernels::fprop_call(views), context); }

void dgrad_cuda(const Arguments& views, LaunchContext& context) {
  multiply({.a = views[0], .b = views[1], .c = views[2]}, context);
}

void wgrad_cuda(const Arguments& views, LaunchContext& context) {
  multiply({.a = views[0], .b = views[1], .c = views[2], .transpose_a = true, .accumulate = true}, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_gemm() {
  static constexpr std::array<CudaImplementationInfo, 3> all{{
      {"gemm_fprop", fprop_cuda},
      {"gemm_dgrad", dgrad_cuda},
      {"gemm_wgrad", wgrad_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
