// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/libraries.hpp"

#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#include "kernels/gemm/matrix_products.hpp"

namespace underlap::gpu {

cuda::LaunchContext context_with_libraries() {
  static cuda::MatrixProducts products{cuda::CublasLtApi::load()};
  int num_sms = 0;
  cuda::check(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, 0));
  return {.num_sms = num_sms, .products = &products};
}

}  // namespace underlap::gpu
