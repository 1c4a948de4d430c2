// SPDX-License-Identifier: Apache-2.0
//
// The device code is cuBLASLt's: kernels/gemm/matrix_products.hpp says what is asked of it. Operands have half the
// bytes of bf16 ones and the tensor cores twice the rate, so an fp8 product is bound by them from about the same sizes
// on.
#include <array>
#include <stdexcept>

#include "kernels/cuda/forms.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "kernels/gemm_fp8/gemm_fp8_parameters.hpp"

namespace underlap::cuda {
namespace {

void form(const Arguments& views, LaunchContext& context) {
  if (context.products == nullptr) throw std::invalid_argument("a matrix product was launched without cuBLASLt");
  context.products->enqueue(kernels::fp8_call(views), context);
}

}  // namespace

std::span<const CudaFormInfo> cuda_forms_gemm_fp8() {
  static constexpr std::array<CudaFormInfo, 1> forms{{{"gemm_fp8", form}}};
  return forms;
}

}  // namespace underlap::cuda
