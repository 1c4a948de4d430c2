// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace underlap {

/// For a flag whose value is a text: nothing is no value, and would be as if the flag were not there.
inline CLI::Validator not_empty() {
  return {
      [](std::string& value) { return value.empty() ? std::string("is empty; give it a value, or leave it out") : ""; },
      ""};
}

}  // namespace underlap
