// SPDX-License-Identifier: Apache-2.0
//
// The three products of a linear layer on a GPU. cuBLASLt provides the device code; matrix_products.hpp describes how
// it is used. 2 M N K flops, with each operand moved once, are M N K / (M N + N K + M K) flops a byte. The product is
// bound by the tensor cores where that is above 150 (A100) to 300 (H100), which takes all three near a thousand. It is
// bound by memory where one of them is small.
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
