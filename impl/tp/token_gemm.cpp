// SPDX-License-Identifier: Apache-2.0
#include "impl/tp/token_gemm.hpp"

#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm_fp8/gemm_fp8.hpp"

namespace underlap::tp {

Operation TokenGemm::rows(const View& in, const View& out) const {
  const View bias = is_dgrad ? View{} : weight.bias;
  if (weight.is_fp8())
    return kernels::gemm_fp8({.a = in,
                              .a_inverse_scale = in_inverse_scale,
                              .b = weight.values,
                              .b_inverse_scale = weight.inverse_scale,
                              .c = out,
                              .bias = bias,
                              .use_split_accumulator = is_dgrad,
                              .sm_margin = sm_margin});
  return is_dgrad ? kernels::gemm_dgrad(in, weight.values, out, sm_margin)
                  : kernels::gemm_fprop(in, weight.values, out, sm_margin, bias);
}

Operation TokenGemm::split(const View& in, std::int64_t first, const View& out) const {
  TokenGemm part = *this;
  View& values = part.weight.values;
  if (reads_columns()) {
    values = columns_of(values, first, out.cols);
  } else {
    values = rows_of(values, first, out.cols);
    if (part.weight.bias.tensor.id != 0)
      part.weight.bias = flat(weight.bias.tensor, weight.bias.offset + first, out.cols);
  }
  return part.rows(in, out);
}

}  // namespace underlap::tp
