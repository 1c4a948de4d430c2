// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "profiler/formats/format.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::testing_support {

/// Reads the bytes of a trace file of any format.
inline Trace read_trace_text(std::string_view text) {
  const TemporaryFolder folder;
  write_text(folder / "t.json", text);
  return formats::read_trace(folder / "t.json");
}

/// Reads a file that is cut anywhere after `begin`: what is not refused has at least the slices of shorter ones.
/// Returns the largest number of slices.
inline std::size_t most_slices_of_cuts(std::string_view text, std::size_t begin) {
  constexpr std::size_t kStep = 11;
  std::size_t most = 0;
  for (std::size_t length = begin; length < text.size(); length += kStep) {
    std::size_t size = 0;
    const std::string refusal = error_of([&] { size = read_trace_text(text.substr(0, length)).size(); });
    EXPECT_GE(size, refusal.empty() ? most : 0) << length;
    most = std::max(most, size);
  }
  return most;
}

}  // namespace underlap::testing_support
