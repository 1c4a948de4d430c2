// SPDX-License-Identifier: Apache-2.0
#include "research/micro/benchmarks.hpp"

namespace underlap::bench {

std::string add_cuda_benchmarks(const CudaBenchmarks&) { return "this program was built without CUDA"; }

}  // namespace underlap::bench
