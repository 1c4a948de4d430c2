// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QListView>

#include "viewer/model/lane_arrangement.hpp"

namespace underlap::viewer {

/// The lanes of a timeline as a list: a check shows one or hides it, dragging moves it. What keys do to the lane of the
/// selected slice they do to the current one here while the list has the focus.
class LanesPanel : public QListView {
  Q_OBJECT

 public:
  explicit LanesPanel(LaneArrangement& lanes, QWidget* parent = nullptr);
};

}  // namespace underlap::viewer
