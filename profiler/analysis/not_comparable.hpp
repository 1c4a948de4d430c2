// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace underlap::analysis {

/// What was to be held against each other did not do the same. It says how a command goes on all the same; `reason` is
/// the part for anyone.
class NotComparable : public std::invalid_argument {
 public:
  explicit NotComparable(std::string why,
                         const std::string& advice = "they did not do the same; --force compares all the same")
      : std::invalid_argument(why + "\n  " + advice), reason(std::move(why)) {}

  const std::string reason;
};

}  // namespace underlap::analysis
