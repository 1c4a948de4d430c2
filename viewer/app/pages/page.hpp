// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QJsonObject>
#include <QList>
#include <QWidget>

#include "viewer/charts/chart.hpp"
#include "viewer/theme/theme.hpp"
#include "viewer/timeline/slice_search.hpp"

class QListView;

namespace underlap::viewer {

class ChartPanel;
class LaneArrangement;
class TimelineView;

/// A document in a tab of the window. What a page cannot do, it does not do.
class Page : public QWidget {
  Q_OBJECT

 public:
  /// The timeline that keys act on; nullptr if there is no timeline.
  virtual TimelineView* timeline() { return nullptr; }
  /// The charts that it shows; nullptr if there are none.
  virtual ChartPanel* charts() { return nullptr; }
  /// What charts are drawn from; borrowed from the page.
  virtual ChartInput chart_input() const = 0;
  virtual void set_theme(const Theme&) = 0;
  virtual void set_legend(bool) {}
  /// Where keys go in turn: timelines, tabs of panels, what they show. Those that are not seen are passed over.
  virtual QList<QWidget*> stops() { return {focusProxy()}; }
  /// The lane that keys act on; -1 if there is no lane.
  virtual int lane_row();
  /// How a person left it, to be kept until the next time, and back; empty where there is nothing to keep.
  virtual QJsonObject kept_state() const { return {}; }
  virtual void restore(const QJsonObject&) {}
  virtual void find() {}
  virtual void go_to_found(Towards) {}
  virtual void go_to_worst() {}
  /// On the timeline, to the next slice on the same rank that does the same as the selected one.
  void go_to_alike(Towards);
};

/// Goes to the next found slice after the selected one; to the first if nothing is selected or none follows.
void go_to_next_of(TimelineView&, const std::vector<std::uint32_t>& found, Towards);

/// The lanes of a timeline as a list: a check shows one or hides it, dragging moves it. What keys do to the lane of the
/// selected slice they do to the current one here while the list has the focus.
QListView* make_lanes_list(LaneArrangement& lanes);

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
