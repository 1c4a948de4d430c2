// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

namespace underlap {

/// For a flag whose value is a text: nothing is no value, and would be as if the flag were not there.
inline CLI::Validator not_empty() {
  return {
      [](std::string& value) { return value.empty() ? std::string("is empty; give it a value, or leave it out") : ""; },
      ""};
}

/// For a name that a job script will hold: a space or a line break would end it there.
inline CLI::Validator one_word() {
  return {[](std::string& value) {
            const auto is_printed = [](unsigned char c) { return c > ' ' && c != 0x7F; };
            return !value.empty() && std::ranges::all_of(value, is_printed)
                       ? ""
                       : std::string("must be a name without spaces and control characters");
          },
          ""};
}

}  // namespace underlap
