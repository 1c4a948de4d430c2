// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/page.hpp"

#include "viewer/app/timeline_view.hpp"

namespace underlap::viewer {

// That of the selected slice.
int Page::lane_row() {
  TimelineView* view = timeline();
  if (view == nullptr || view->state().selected >= view->timeline().trace().size()) return -1;
  return view->arrangement().row_of(view->timeline().place_of(view->state().selected).lane_index);
}

}  // namespace underlap::viewer
