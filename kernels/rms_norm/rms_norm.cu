// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm: forward, gradient of the input (dgrad), gradient of the weight (wgrad).
//
//             bytes an element of x                      flops
//   forward   x 2 read, out 2 written                    4
//   dgrad     x, dout, residual 6 read, dx 2 written     8
//   wgrad     x, dout 4 read                             3      and 4 H bytes a block, written and read again
//
// Bound by memory. norm.cuh has the kernels, who reads what, and the order of their sums.
#include <array>

#include "kernels/cuda/norm.cuh"

namespace underlap::cuda {
namespace {

void forward_cuda(const Arguments& views, LaunchContext& context) {
  launch_norm_forward<false>({.x = rows_of<const bf16>(views[0]),
                              .weight = views[1].as<const bf16>(),
                              .bias = nullptr,
                              .out = rows_of<bf16>(views[2]),
                              .mean = nullptr,
                              .rstd = views[3].as<float>(),
                              .epsilon = static_cast<float>(views.parameters<double>()),
                              .team_warps = 1},
                             context);
}

void dgrad_cuda(const Arguments& views, LaunchContext& context) {
  launch_norm_dgrad<false>({.x = rows_of<const bf16>(views[0]),
                            .weight = views[1].as<const bf16>(),
                            .mean = nullptr,
                            .rstd = views[2].as<const float>(),
                            .dout = rows_of<const bf16>(views[3]),
                            .residual = rows_of<const bf16>(views[4]),
                            .dx = rows_of<bf16>(views[5]),
                            .team_warps = 1},
                           context);
}

void wgrad_cuda(const Arguments& views, LaunchContext& context) {
  launch_norm_wgrad<false>({.x = rows_of<const bf16>(views[0]),
                            .dout = rows_of<const bf16>(views[2]),
                            .mean = nullptr,
                            .rstd = views[1].as<const float>()},
                           {views[3]}, context);
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_rms_norm() {
  static constexpr std::array<CudaImplementationInfo, 3> all{{
      {"rms_norm_forward", forward_cuda},
      {"rms_norm_dgrad", dgrad_cuda},
      {"rms_norm_wgrad", wgrad_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
