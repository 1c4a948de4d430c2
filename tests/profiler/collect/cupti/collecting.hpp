// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/collector.hpp"
#include "tests/profiler/collect/cupti/fake_cupti.hpp"

namespace underlap::cupti {

inline constexpr CollectorOptions kSmall{.rank = 3, .buffer_bytes = 4096, .initial_buffers = 1, .most_buffers = 4};

// A kernel that starts now or a little later.
template <class Kernel = CUpti_ActivityKernel10>
Kernel kernel_at(const FakeCupti& cupti, std::uint32_t correlation, std::uint64_t after_ns = 0) {
  const std::uint64_t start = cupti.now() + after_ns;
  return synthetic_kernel<Kernel>(correlation, start, start + 10);
}

inline SyntheticBuffer kernel_of(const FakeCupti& cupti, std::uint32_t correlation, std::uint64_t after_ns) {
  return SyntheticBuffer().add(kernel_at(cupti, correlation, after_ns));
}

// What a collector is refused with, or "no error".
inline std::string error_of(const Api& api) {
  try {
    Collector(api, kSmall).start();
  } catch (const MachineError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace underlap::cupti
