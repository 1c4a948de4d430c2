// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/harness.hpp"

#include <stdexcept>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    underlap::fuzz::take({reinterpret_cast<const char*>(data), size});
  } catch (const std::invalid_argument&) {
    return 0;  // refused, in words
  }
  return 0;
}
