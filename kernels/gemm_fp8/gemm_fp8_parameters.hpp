// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/gemm/gemm.hpp"

namespace underlap::kernels {

/// Parameters of gemm_fp8's implementation. Its views are a, a_inverse_scale, b, b_inverse_scale, c, and optionally a
/// bias.
struct Fp8ProductParameters {
  bool accumulate = false;
  bool use_split_accumulator = true;
};

/// The product that gemm_fp8's implementation is called for.
inline GemmCall fp8_call(const Arguments& views) {
  const auto& parameters = views.parameters<Fp8ProductParameters>();
  return {.a = views[0],
          .b = views[2],
          .c = views[4],
          .bias = views.size() > 5 ? views[5].as<const bf16>() : nullptr,
          .a_inverse_scale = views[1].as<const float>(),
          .b_inverse_scale = views[3].as<const float>(),
          .use_split_accumulator = parameters.use_split_accumulator,
          .transpose_b = true,
          .accumulate = parameters.accumulate};
}

}  // namespace underlap::kernels
