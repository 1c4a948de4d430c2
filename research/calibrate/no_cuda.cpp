// SPDX-License-Identifier: Apache-2.0
// What a build without CUDA has in place of its commands and benchmarks.
#include "platform/errors.hpp"
#include "research/calibrate/commands.hpp"
#include "research/calibrate/rates/benchmarks.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kReason = "this program was built without CUDA";

}  // namespace

int measure_gpu(int, char**) { throw MachineError(kReason); }

std::string add_cuda_benchmarks(const CudaBenchmarks&) { return kReason; }

}  // namespace underlap::bench
