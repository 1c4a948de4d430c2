// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace underlap::analysis {

/// The two sides of a comparison did different work. The message includes advice on how to compare anyway; `reason`
/// lacks it, for callers without such an option.
class NotComparable : public std::invalid_argument {
 public:
  explicit NotComparable(std::string why,
                         const std::string& advice = "the sides are not comparable; use --force to compare anyway")
      : std::invalid_argument(why + "\n  " + advice), reason(std::move(why)) {}

  const std::string reason;
};

}  // namespace underlap::analysis
