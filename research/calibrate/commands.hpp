// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap::bench {

/// The commands of underlap-calibrate, from its command line. Both return its exit code; they throw MachineError in a
/// build without CUDA or without Google Benchmark.
int measure_gpu(int argc, char** argv);
/// Without the word "rates".
int measure_rates(int argc, char** argv);

}  // namespace underlap::bench
