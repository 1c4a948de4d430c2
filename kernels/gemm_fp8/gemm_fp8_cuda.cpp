// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt provides the device code; kernels/gemm/matrix_products.hpp describes how it is used. Compared with bf16,
// operands have half the bytes and the tensor cores twice the rate. So an fp8 product becomes bound by the tensor cores
// at about the same sizes.
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
