// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/libraries.hpp"

#include <cuda_runtime_api.h>

#include "kernels/attention/cudnn_attention.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/gemm/matrix_products.hpp"

namespace underlap::gpu {
namespace {

bool cudnn_is_wanted = false;
bool cudnn_is_deterministic = true;

cuda::Attention* cudnn() {
  static cuda::Attention attention(cuda::CudnnApi::load());
  return &attention;
}

}  // namespace

void use_cudnn(bool wanted, bool is_deterministic) {
  cudnn_is_wanted = wanted;
  cudnn_is_deterministic = is_deterministic;
}

cuda::LaunchContext context_with_libraries() {
  static cuda::MatrixProducts products{cuda::CublasLtApi::load()};
  int num_sms = 0;
  cuda::check(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, 0));
  return {.num_sms = num_sms,
          .products = &products,
          .attention = cudnn_is_wanted ? cudnn() : nullptr,
          .is_deterministic = cudnn_is_deterministic};
}

}  // namespace underlap::gpu
