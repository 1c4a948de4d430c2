// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Spreads the slices of one track over as few lanes as it takes that no two of a lane overlap, or with `nests` that
/// those that do are one within the other.
///
/// A viewer that sorts events by time and keeps their order where times are equal then sees each slice end before the
/// next of its lane begins; so slices that only touch share a lane exactly if they are written in that order.
class Lanes {
 public:
  explicit Lanes(bool nests = false) : nests_(nests) {}

  /// Gives the lane of each of `slices` (indices into `trace`, all of one track). `first_index` counts the slices that
  /// were written before this trace.
  std::vector<std::uint32_t> assign(const Trace& trace, std::span<const std::size_t> slices, std::uint64_t first_index);

  std::size_t count() const { return lanes_.size(); }

 private:
  struct Open {
    std::int64_t end_ns;
    std::uint64_t index;  ///< in the order of writing
  };
  /// The last slice of a lane, and before it those that it is within.
  using Lane = std::vector<Open>;
  std::uint32_t place(std::int64_t start_ns, std::int64_t end_ns, std::uint64_t index);

  bool nests_;
  std::vector<Lane> lanes_;
};

}  // namespace underlap::formats
