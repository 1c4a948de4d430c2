// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// One reader under test: takes any bytes, and returns. What a reader may say of bad ones (std::invalid_argument) is
/// caught inside; anything else that is thrown, and whatever a sanitizer finds, ends the program. libFuzzer calls this
/// name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace underlap::fuzz {

/// Whole inputs of that reader, of which others are made by mutation.
std::vector<std::string> seeds();

}  // namespace underlap::fuzz
