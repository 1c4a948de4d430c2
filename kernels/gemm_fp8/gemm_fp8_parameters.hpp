// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/gemm/gemm.hpp"

namespace underlap::kernels {

/// What gemm_fp8's form is told beside its views, which are a, a_inverse_scale, b, b_inverse_scale, c.
struct Fp8ProductParameters {
  bool accumulate = false;
};

/// The product that gemm_fp8's form is called for.
inline GemmCall fp8_call(const Arguments& views) {
  return {.a = views[0],
          .b = views[2],
          .c = views[4],
          .a_inverse_scale = views[1].as<const float>(),
          .b_inverse_scale = views[3].as<const float>(),
          .transpose_b = true,
          .accumulate = views.parameters<Fp8ProductParameters>().accumulate};
}

}  // namespace underlap::kernels
