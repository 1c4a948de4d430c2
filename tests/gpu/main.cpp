// SPDX-License-Identifier: Apache-2.0
// Tests that need a GPU. Where there is none the program says why and ends with 77, which ctest shows as skipped.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/gpu/training_rank.hpp"

int main(int argc, char** argv) {
  if (const auto order = underlap::gpu::rank_order(argc, argv)) return underlap::gpu::run_rank(*order);
  if (const auto folder = underlap::gpu::recording_order(argc, argv)) return underlap::gpu::record_training(*folder);
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU (%s)\n", found == cudaSuccess ? "none visible" : cudaGetErrorString(found));
    return 77;
  }
  return RUN_ALL_TESTS();
}
