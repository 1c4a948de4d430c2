// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/operation.hpp"

namespace underlap::check {

/// Elements of one tensor from begin up to, and not including, end.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

/// Some of the elements of one tensor, exactly, also where views are strided.
class ElementSet {
 public:
  void add(const View& view);
  void remove(const View& view);

  /// The first range of `view` that is not in the set; nullopt where all of it is.
  std::optional<ElementRange> first_missing(const View& view) const;

  /// Whether any element of `view` is in the set.
  bool has_any(const View& view) const;

 private:
  bool contains(const ElementRange& range) const;

  std::vector<ElementRange> ranges_;  // sorted; no two touch
};

}  // namespace underlap::check
