// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "bench/ranks/cuda_backend.hpp"

namespace underlap::bench {
namespace {

[[noreturn]] void refuse() {
  throw std::invalid_argument(
      "run.backend is cuda, but this build has no CUDA backend\n  build it with CUDA Toolkit 12.4 or newer, cuDNN and "
      "NCCL: cmake -DUNDERLAP_CUDA=ON lists what is missing");
}

}  // namespace

bool has_cuda_backend() { return false; }

void check_cuda_backend(std::span<const plan::Cell>, std::int32_t) { refuse(); }

std::int64_t gpu_bytes() { return 0; }

std::unique_ptr<Session> make_cuda_session(std::span<const plan::Cell>, std::int32_t, const SessionOptions&) {
  refuse();
}

std::unique_ptr<RankRunner> make_cuda_rank(const RankContext&) { refuse(); }

}  // namespace underlap::bench
