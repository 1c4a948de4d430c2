// SPDX-License-Identifier: Apache-2.0
// Tests that need a GPU. Where there is none the program says why and ends with 77, which ctest shows as skipped.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

#include "impl/device/cuda/requirements.hpp"
#include "tests/gpu/training_rank.hpp"

int main(int argc, char** argv) {
  if (const auto order = underlap::gpu::rank_order(argc, argv)) return underlap::gpu::run_rank(*order);
  if (const auto folder = underlap::gpu::recording_order(argc, argv)) return underlap::gpu::record_training(*folder);
  testing::InitGoogleTest(&argc, argv);
  try {
    underlap::cuda::check_cuda_machine(1);
  } catch (const std::exception& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  return RUN_ALL_TESTS();
}
