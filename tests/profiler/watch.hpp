// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::testing_support {

/// Keeps all that it hears, and cancels from the poll on that a test chooses.
class Watch : public ReadingWatch {
 public:
  explicit Watch(std::size_t cancelled_at_poll = ~std::size_t{0}) : cancelled_at(cancelled_at_poll) {}

  void say(const std::string& what) override { said.push_back(what); }
  void on_progress(double fraction) override { fractions.push_back(fraction); }
  bool is_cancelled() const override { return ++polls >= cancelled_at; }
  std::optional<std::chrono::milliseconds> pause_between_parts() const override { return pause; }
  void on_part(const Trace& so_far) override {
    sizes.push_back(so_far.size());
    if (look) look(so_far);
  }

  std::vector<std::string> said;
  std::vector<double> fractions;
  std::vector<std::size_t> sizes;
  std::function<void(const Trace&)> look;
  std::optional<std::chrono::milliseconds> pause = std::chrono::milliseconds(0);
  std::size_t cancelled_at;
  mutable std::size_t polls = 0;
};

}  // namespace underlap::testing_support
