// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "viewer/app/pages/page.hpp"
#include "viewer/app/pages/selection_panel.hpp"
#include "viewer/app/timeline_view.hpp"
#include "viewer/model/document.hpp"
#include "viewer/model/figure_table_model.hpp"
#include "viewer/timeline/slice_facts.hpp"

class QSpinBox;
class QCheckBox;
class QLabel;
class QLineEdit;
class QTabWidget;

namespace underlap::viewer {

/// Two traces locked to one time within a step: the candidate above the baseline, or the baseline as a ghost below each
/// lane of the candidate. A panel below them explains the difference. A selection on one side, a slice or a range of
/// the step, is also selected on the other.
class ComparePage : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(std::shared_ptr<const CompareDocument> document);

  TimelineView* timeline() override;
  TimelineView* candidate() { return candidate_; }
  TimelineView* baseline() { return baseline_; }
  const CompareDocument& document() const { return *document_; }
  const FigureTableModel& settings() const { return *settings_; }
  const FigureTableModel& facts() const { return *facts_; }
  const SelectionPanel& selection() const { return *selection_; }
  /// The steps that are compared: "step 3", "step 3 vs. step 1009".
  QString steps_text() const;
  ChartInput chart_input() const override;
  void set_theme(const Theme&) override;
  void set_legend(bool has_legend) override;
  QList<QWidget*> stops() override;
  int lane_row() override;
  QJsonObject kept_state() const override;
  void restore(const QJsonObject&) override;
  void find() override;
  void go_to_found(Towards) override;
  void go_to_worst() override;

  /// Compares the nth step of one side with the nth step of the other.
  void align(int nth);
  void show_as_ghost(bool is_ghost);
  /// Goes to an operation in the aligned step, on both sides: to its first slice there, of one rank where both have it.
  void go_to_operation(int row);

 private:
  TimelineView& other_than(const TimelineView& side) { return &side == candidate_ ? *baseline_ : *candidate_; }
  /// What is added to a time of `side` for the same moment of the step on the other one.
  std::int64_t shift_from(const TimelineView& side) const;
  void update_ghost();
  /// Applies a change of one side's view to the other, whose own signals are ignored meanwhile.
  void mirror(const std::function<void()>& what);
  void follow(const TimelineView& leader);
  void show_slice(const TimelineView& of, std::uint32_t slice);
  void show_facts(std::uint32_t of_candidate, std::uint32_t of_baseline);
  std::vector<Fact> facts_of_side(const TraceDocument&, std::uint32_t slice) const;
  void show_range(const TimelineView& of);
  void ask_for_selection();
  QWidget* make_line();
  QWidget* make_panels();
  QWidget* make_tables();
  QWidget* make_settings();
  void search();
  /// What is found, or worst, on the side that keys act on.
  struct Side {
    std::vector<std::uint32_t> found;
    WorstExposed worst;
  };
  Side& side() { return timeline() == baseline_ ? of_baseline_ : of_candidate_; }
  QString heading() const;

  std::shared_ptr<const CompareDocument> document_;
  TimelineView* candidate_;
  TimelineView* baseline_;
  QTabWidget* panels_;
  QListView* lanes_of_candidate_;
  QListView* lanes_of_baseline_;
  FigureTableModel* parts_;
  FigureTableModel* operations_;
  FigureTableModel* settings_;
  FigureTableModel* facts_;
  QWidget* details_ = nullptr;
  SelectionPanel* selection_;
  QSpinBox* step_;
  QLabel* steps_;
  QCheckBox* ghost_;
  QLineEdit* query_;
  QLabel* found_text_;
  Side of_candidate_;
  Side of_baseline_;
  int nth_ = 0;
  bool is_mirroring_ = false;
  bool has_legend_ = false;
};

}  // namespace underlap::viewer
