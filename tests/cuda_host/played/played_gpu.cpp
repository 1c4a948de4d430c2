// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/played/played_gpu.hpp"

#include <cstdlib>
#include <sstream>

#include "tests/cuda_host/machine.hpp"

namespace underlap::cuda_host {
namespace {

// Before main(): the first call to CUDA finds the machine as it was described.
[[maybe_unused]] const bool kIsReady = [] {
  const PlayedGpu& gpu = PlayedGpu::instance();
  Machine& machine = Machine::instance();
  machine.reset(static_cast<int>(gpu.number("gpus", 1)), 1);
  machine.set_driver(static_cast<int>(gpu.number("driver", machine.driver())));
  machine.set_memory(static_cast<std::size_t>(gpu.number("memory_mib", 4096)) << 20);
  machine.event_distance_ms.reset();
  machine.num_sms = 24;
  machine.link_threads = 32;
  machine.waits_for_device = true;
  // A thread that reads its clock so slowly is late for each piece of the link's time.
  if (gpu.has("slow_link")) virtual_clock().tick_ns = 20'000;
  return true;
}();

}  // namespace

PlayedGpu::PlayedGpu() {
  const char* const text = std::getenv("UNDERLAP_PLAYED_GPU");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    values_[word.substr(0, equals)] = equals == std::string::npos ? 1 : std::atol(word.c_str() + equals + 1);
  }
}

const PlayedGpu& PlayedGpu::instance() {
  static const PlayedGpu gpu;
  return gpu;
}

}  // namespace underlap::cuda_host
