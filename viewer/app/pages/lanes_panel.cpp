// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/lanes_panel.hpp"

#include <QStyledItemDelegate>

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

LanesPanel::LanesPanel(LaneArrangement& lanes, QWidget* parent) : QListView(parent) {
  setModel(&lanes);
  setItemDelegate(new LaneDelegate(this));
  setAccessibleName(tr("Lanes"));
  setUniformItemSizes(true);
  setDragDropMode(InternalMove);
  setToolTip(tr("Space shows or hides a lane, P pins it, C collapses it; Ctrl+Up, Ctrl+Down or dragging moves it"));
}

}  // namespace underlap::viewer
