// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "viewer/app/timeline_view.hpp"
#include "viewer/timeline/search.hpp"

namespace underlap::viewer {

/// Navigation from slice to slice, for every page with a timeline.

/// Goes to the next found slice after the selected one; to the first if nothing is selected or none follows.
void go_to_next_of(TimelineView&, const std::vector<std::uint32_t>& found, Towards);
/// The next one on the same rank that does the same as the selected slice.
void go_to_alike(TimelineView&, Towards);

/// Goes from the worst exposed to the next worst.
class WorstExposed {
 public:
  explicit WorstExposed(const Timeline&);

  const std::vector<std::uint32_t>& slices() const { return slices_; }
  void go_to_next(TimelineView&);

 private:
  std::vector<std::uint32_t> slices_;
  std::size_t next_ = 0;
};

}  // namespace underlap::viewer
