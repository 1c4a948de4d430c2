// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm: forward, gradient of the input (dgrad), gradients of weight and bias (wgrad).
//
//             bytes an element of x                      flops
//   forward   x 2 read, out 2 written                    7
//   dgrad     x, dout, residual 6 read, dx 2 written     11
//   wgrad     x, dout 4 read                             5      and 8 H bytes a block, written and read again
//
// Bound by memory. norm.cuh has the kernels, who reads what, and the order of their sums: a row's mean first, then that
// of the squares of what is left.
#include <array>

#include "kernels/cuda/norm.cuh"

namespace underlap::cuda {
namespace {

void forward_cuda(const Arguments& views, LaunchContext& context) {
  launch_norm_forward<true>({.x = rows_of<const bf16>(views[0]),
                             .weight = views[1].as<const bf16>(),
                             .bias = views[2].as<const bf16>(),
                             .out = rows_of<bf16>(views[3]),
                             .mean = views[4].as<float>(),
                             .rstd = views[5].as<float>(),
                             .epsilon = static_cast<float>(views.parameters<double>()),
                             .team_warps = 1},
                            context);
}

void dgrad_cuda(const Arguments& views, LaunchContext& context) {
  launch_norm_dgrad<true>({.x = rows_of<const bf16>(views[0]),
                           .weight = views[1].as<const bf16>(),
                           .mean = views[2].as<const float>(),
                           .rstd = views[3].as<const float>(),
                           .dout = rows_of<const bf16>(views[4]),
                           .residual = rows_of<const bf16>(views[5]),
                           .dx = rows_of<bf16>(views[6]),
                           .team_warps = 1},
                          context);
}

void wgrad_cuda(const Arguments& views, LaunchContext& context) {
  launch_norm_wgrad<true>({.x = rows_of<const bf16>(views[0]),
                           .dout = rows_of<const bf16>(views[3]),
                           .mean = views[1].as<const float>(),
                           .rstd = views[2].as<const float>()},
                          {views[4], views[5]}, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_layer_norm() {
  static constexpr std::array<CudaImplementationInfo, 3> all{{
      {"layer_norm_forward", forward_cuda},
      {"layer_norm_dgrad", dgrad_cuda},
      {"layer_norm_wgrad", wgrad_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
