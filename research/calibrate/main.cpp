// SPDX-License-Identifier: Apache-2.0
// underlap-calibrate: measures the GPU that CUDA puts first, and writes a measured file for run.hardware.
// underlap-calibrate rates: times operations and collectives alone.
#include <string_view>

#include "platform/run_program.hpp"
#include "research/calibrate/commands.hpp"

int main(int argc, char** argv) {
  return underlap::run_program("underlap-calibrate", [&] {
    if (argc < 2 || argv[1] != std::string_view("rates")) return underlap::bench::measure_gpu(argc, argv);
    argv[1] = argv[0];
    return underlap::bench::measure_rates(argc - 1, argv + 1);
  });
}
