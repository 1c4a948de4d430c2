// SPDX-License-Identifier: Apache-2.0
// The device code is cuBLASLt's: matrix_products.hpp says what is asked of it.
#include <array>
#include <stdexcept>

#include "kernels/cuda/forms.hpp"
#include "kernels/gemm/matrix_products.hpp"

namespace underlap::cuda {
namespace {

void multiply(const kernels::GemmCall& call, LaunchContext& context) {
  if (context.products == nullptr) throw std::invalid_argument("a matrix product was launched without cuBLASLt");
  context.products->enqueue(call, context);
}

void fprop_form(const Arguments& views, LaunchContext& context) {
  multiply({.a = views[0], .b = views[1], .c = views[2], .transpose_b = true}, context);
}

void dgrad_form(const Arguments& views, LaunchContext& context) {
  multiply({.a = views[0], .b = views[1], .c = views[2]}, context);
}

void wgrad_form(const Arguments& views, LaunchContext& context) {
  multiply({.a = views[0], .b = views[1], .c = views[2], .transpose_a = true, .accumulate = true}, context);
}

}  // namespace

std::span<const CudaFormInfo> cuda_forms_gemm() {
  static constexpr std::array<CudaFormInfo, 3> forms{{
      {"gemm_fprop", fprop_form},
      {"gemm_dgrad", dgrad_form},
      {"gemm_wgrad", wgrad_form},
  }};
  return forms;
}

}  // namespace underlap::cuda
