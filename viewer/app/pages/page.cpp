// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/page.hpp"

#include <QListView>
#include <QStyledItemDelegate>

#include "viewer/app/timeline_view.hpp"

namespace underlap::viewer {
namespace {

// Names what else is said of a lane than whether it is shown.
class LaneDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.data(LaneArrangement::kPinned).toBool()) option->text += tr(", pinned");
    if (index.data(LaneArrangement::kCollapsed).toBool()) option->text += tr(", collapsed");
  }
};

}  // namespace

// That of the selected slice.
int Page::lane_row() {
  TimelineView* view = timeline();
  if (view == nullptr || view->state().selected >= view->timeline().trace().size()) return -1;
  return view->arrangement().row_of(view->timeline().place_of(view->state().selected).lane_index);
}

void go_to_next_of(TimelineView& view, const std::vector<std::uint32_t>& found, Towards towards) {
  if (found.empty()) return;
  const std::uint32_t selected = view.state().selected;
  const bool is_any = selected < view.timeline().trace().size();
  const std::uint32_t next = is_any ? next_of(view.timeline(), found, selected, towards) : Timeline::kNoSlice;
  view.go_to(next == Timeline::kNoSlice ? found.front() : next);
}

void Page::go_to_alike(Towards towards) {
  if (timeline() == nullptr) return;
  TimelineView& view = *timeline();
  const std::uint32_t selected = view.state().selected;
  if (selected >= view.timeline().trace().size()) return;
  const std::int32_t rank = view.timeline().trace().track_of(selected).rank;
  const std::uint32_t next = next_of(view.timeline(), find_alike(view.timeline(), selected), selected, towards, rank);
  if (next != Timeline::kNoSlice) view.go_to(next);
}

QListView* make_lanes_list(LaneArrangement& lanes) {
  auto* list = new QListView;
  list->setModel(&lanes);
  list->setItemDelegate(new LaneDelegate(list));
  list->setAccessibleName(Page::tr("Lanes"));
  list->setUniformItemSizes(true);
  list->setDragDropMode(QListView::InternalMove);
  list->setToolTip(
      Page::tr("Space shows or hides a lane, P pins it, C collapses it.\nCtrl+Up, Ctrl+Down or dragging moves it."));
  return list;
}

WorstExposed::WorstExposed(const Timeline& timeline) {
  constexpr std::size_t kMost = 500;
  for (const ExposedSlice& exposed : worst_exposed(timeline, kMost)) slices_.push_back(exposed.slice);
}

void WorstExposed::go_to_next(TimelineView& view) {
  if (slices_.empty()) return;
  view.go_to(slices_[next_ % slices_.size()]);
  ++next_;
}

}  // namespace underlap::viewer
