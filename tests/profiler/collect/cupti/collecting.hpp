// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/collector.hpp"
#include "tests/profiler/collect/cupti/fake_cupti.hpp"
#include "tests/profiler/error_of.hpp"

namespace underlap::cupti {

inline constexpr CollectorOptions kSmall{.rank = 3, .buffer_bytes = 4096, .initial_buffers = 1, .most_buffers = 4};

// A library without a GPU, and a collector that is made once the library is as the test wants it.
class CollectorOfAFake : public ::testing::Test {
 protected:
  Collector& make(const CollectorOptions& options = kSmall) {
    api_ = cupti.api();
    return collector_.emplace(api_, options);
  }
  Collector& start(const CollectorOptions& options = kSmall) {
    make(options).start();
    return *collector_;
  }
  // What another collector is refused with; "" where it starts.
  std::string refusal() const {
    return testing_support::error_of<MachineError>([this] {
      const Api api = cupti.api();
      Collector(api, kSmall).start();
    });
  }
  // A kernel that starts now or a little later.
  template <class Kernel = CUpti_ActivityKernel10>
  Kernel kernel_at(std::uint32_t correlation, std::uint64_t after_ns = 0) const {
    const std::uint64_t start = cupti.now() + after_ns;
    return synthetic_kernel<Kernel>(correlation, start, start + 10);
  }
  SyntheticBuffer kernel_of(std::uint32_t correlation, std::uint64_t after_ns) const {
    return SyntheticBuffer().add(kernel_at(correlation, after_ns));
  }

  FakeCupti cupti;

 private:
  Api api_;
  std::optional<Collector> collector_;
};

}  // namespace underlap::cupti
