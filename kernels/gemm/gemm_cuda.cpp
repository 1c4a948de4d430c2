// SPDX-License-Identifier: Apache-2.0
//
// The three products of a linear layer on a GPU. The device code is cuBLASLt's: matrix_products.hpp says what is asked
// of it. 2 M N K flops and each operand once make M N K / (M N + N K + M K) flops a byte: bound by the tensor cores
// where that is above 150 (A100) to 300 (H100), all three near a thousand, and by memory where one of them is small.
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
