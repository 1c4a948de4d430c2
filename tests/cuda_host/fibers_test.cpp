// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/fibers.hpp"

#include <gtest/gtest.h>

#include <set>

namespace underlap::cuda_host {
namespace {

std::mt19937_64 random_source{7};

TEST(Fibers, RunEveryThreadOfEveryBlockOnce) {
  std::multiset<unsigned> seen;
  run_kernel({.blocks = 3, .threads = 40, .thread_code = [&] { seen.insert(blockIdx.x * blockDim.x + threadIdx.x); }},
             random_source);
  EXPECT_EQ(seen.size(), 120U);
  EXPECT_EQ(std::set<unsigned>(seen.begin(), seen.end()).size(), 120U);
}

TEST(Fibers, MeetAtABlockBarrier) {
  std::vector<int> arrived(3, 0);
  bool all_there = true;
  run_kernel({.threads = 70,
              .thread_code =
                  [&] {
                    for (int& count : arrived) {
                      ++count;
                      __syncthreads();
                      all_there = all_there && count == 70;
                      __syncthreads();
                    }
                  }},
             random_source);
  EXPECT_TRUE(all_there);
}

TEST(Fibers, ExchangeWithinAWarp) {
  std::vector<int> sums(64);
  run_kernel({.threads = 64,
              .thread_code =
                  [&] {
                    int sum = static_cast<int>(threadIdx.x);
                    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0U, sum, lanes);
                    sums[threadIdx.x] = sum;
                  }},
             random_source);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(sums[static_cast<std::size_t>(t)], t < 32 ? 496 : 1520);
}

// The reason for random orders: without its barrier this kernel would be right in one order only.
TEST(Fibers, ShowAMissingBarrierAsADifferentResult) {
  std::set<int> results;
  for (int run = 0; run < 20; ++run) {
    int shared = 0;
    int read = 0;
    run_kernel({.threads = 2,
                .thread_code =
                    [&] {
                      if (threadIdx.x == 0) shared = 1;
                      if (threadIdx.x == 1) read = shared;
                    }},
               random_source);
    results.insert(read);
  }
  EXPECT_EQ(results.size(), 2U);
}

TEST(Fibers, GiveDynamicSharedMemoryThatHoldsNoNumber) {
  bool is_nan = false;
  run_kernel({.shared_bytes = 8,
              .thread_code = [&] { is_nan = std::isnan(*reinterpret_cast<float*>(dynamic_shared_memory())); }},
             random_source);
  EXPECT_TRUE(is_nan);
}

TEST(Fibers, SleepOnTheVirtualClock) {
  virtual_clock() = {.now_ns = 0, .tick_ns = 0, .placed_at_ns = {}};
  std::vector<unsigned long long> woken(40);
  run_kernel({.threads = 40,
              .thread_code =
                  [&] {
                    __nanosleep(100 + threadIdx.x);
                    woken[threadIdx.x] = global_timer();
                    __syncthreads();
                    if (threadIdx.x == 3) woken[3] = global_timer();
                  }},
             random_source);
  EXPECT_EQ(woken[0], 100U);
  EXPECT_EQ(woken[39], 139U);
  EXPECT_EQ(woken[3], 139U);  // a barrier waits for those who sleep
  virtual_clock() = {};
}

TEST(Fibers, KernelsSideBySideSleepAtTheSameTime) {
  virtual_clock() = {.now_ns = 0, .tick_ns = 0, .placed_at_ns = {}};
  const auto sleeps = [](unsigned ns) {
    return KernelLaunch{.blocks = 3, .threads = 33, .thread_code = [ns] { __nanosleep(ns); }};
  };
  run_together(std::vector{sleeps(100), sleeps(70)}, random_source);
  EXPECT_EQ(virtual_clock().now_ns, 100U);
  run_kernel(sleeps(100), random_source);  // block by block
  EXPECT_EQ(virtual_clock().now_ns, 400U);
  virtual_clock() = {};
}

}  // namespace
}  // namespace underlap::cuda_host
