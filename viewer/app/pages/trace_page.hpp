// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFutureWatcher>
#include <QTimer>
#include <QWidget>

#include "viewer/app/pages/mode_panel.hpp"
#include "viewer/app/pages/page.hpp"
#include "viewer/app/pages/selection_panel.hpp"
#include "viewer/app/timeline_view.hpp"
#include "viewer/model/document.hpp"
#include "viewer/model/figure_table_model.hpp"
#include "viewer/model/slices_model.hpp"
#include "viewer/timeline/slice_search.hpp"

class QComboBox;
class QLabel;
class QLineEdit;
class QTabWidget;
class QTableView;

namespace underlap::viewer {

/// One trace: its timeline, and below it what is known of a slice, of a selection, of the whole.
class TracePage : public Page {
  Q_OBJECT

 public:
  explicit TracePage(std::shared_ptr<const TraceDocument> document);

  TimelineView* timeline() override { return timeline_; }
  TimelineView& shown() const { return *timeline_; }
  const TraceDocument& document() const { return *document_; }
  ChartInput chart_input() const override;
  void set_theme(const Theme&) override;
  void set_legend(bool has_legend) override { timeline_->set_legend(has_legend); }
  QList<QWidget*> stops() override;
  int lane_row() override;
  QJsonObject kept_state() const override;
  void restore(const QJsonObject& state) override;
  void find() override;
  void go_to_found(Towards) override;
  void go_to_worst() override;

  const FigureTableModel& facts() const { return *facts_; }
  const FigureTableModel& selected_parts() const { return selection_->parts(); }
  const FigureTableModel& selected_names() const { return selection_->names(); }
  const SlicesModel& found() const { return *found_; }
  const SlicesModel& worst() const { return *worst_; }
  ModePanel& modes() { return *modes_; }
  void search(const QString& text);
  /// Returns a function that applies the state of `part`, the same trace while it was still being read: view, lanes,
  /// marks, selection, panel, search. The function does not need `part`.
  std::function<void()> going_on_from(const TracePage& part);

 signals:
  void read_again_wanted();

 private:
  QWidget* make_timeline();
  void connect_menus();
  QWidget* make_search();
  QWidget* make_worst();
  QWidget* make_analysis();
  void show_facts(std::uint32_t slice);
  void ask_for_selection();
  /// Worked out on another thread: of a large trace it takes longer than a frame. The newest question is the one that
  /// is answered.
  void ask_for_breakdown(int index);
  QString trace_text() const;
  QString answer_text() const;

  std::shared_ptr<const TraceDocument> document_;
  TimelineView* timeline_;
  QTabWidget* panels_;
  QListView* lanes_;
  FigureTableModel* facts_;
  SelectionPanel* selection_;
  ModePanel* modes_;
  FigureTableModel* breakdown_;
  SlicesModel* found_;
  SlicesModel* worst_;
  WorstExposed worst_exposed_;
  QLineEdit* query_ = nullptr;
  QLabel* found_text_ = nullptr;
  QTimer search_after_typing_;
  QFutureWatcher<analysis::FigureTable> breaking_down_;
};

}  // namespace underlap::viewer
