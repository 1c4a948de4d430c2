// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Hands bytes to take(). libFuzzer calls this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace underlap::fuzz {

/// One reader under test: takes any bytes, and returns, or refuses them by std::invalid_argument. Anything else that is
/// thrown, and whatever a sanitizer finds, ends the program.
void take(std::string_view bytes);

/// Whole inputs of that reader, of which others are made by mutation.
std::vector<std::string> seeds();

}  // namespace underlap::fuzz
