// SPDX-License-Identifier: Apache-2.0
//
// The device code is cuBLASLt's: kernels/gemm/matrix_products.hpp says what is asked of it. Operands have half the
// bytes of bf16 ones and the tensor cores twice the rate, so an fp8 product is bound by them from about the same sizes
// on.
#include <array>
#include <stdexcept>

#include "kernels/cuda/implementations.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "kernels/gemm_fp8/gemm_fp8_parameters.hpp"

namespace underlap::cuda {
namespace {

void gemm_fp8_cuda(const Arguments& views, LaunchContext& context) {
  if (context.products == nullptr) throw std::invalid_argument("a matrix product was launched without cuBLASLt");
  context.products->enqueue(kernels::fp8_call(views), context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_gemm_fp8() {
  static constexpr std::array<CudaImplementationInfo, 1> all{{{"gemm_fp8", gemm_fp8_cuda}}};
  return all;
}

}  // namespace underlap::cuda
