// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/compare_page.hpp"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QSpinBox>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/app/tables.hpp"
#include "viewer/model/matrix_table.hpp"

namespace underlap::viewer {
namespace {

QString text(const std::string& string) { return QString::fromStdString(string); }

int num_steps(const Timeline& timeline) {
  return static_cast<int>(std::ranges::count_if(
      timeline.steps(), [&](const StepSpan& step) { return step.rank == timeline.steps().front().rank; }));
}

QWidget* titled(const QString& title, QWidget* below) {
  auto* panel = new QWidget;
  auto* layout = new QVBoxLayout(panel);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  auto* label = new QLabel(title);
  label->setContentsMargins(8, 2, 8, 2);
  layout->addWidget(label);
  layout->addWidget(below, 1);
  return panel;
}

}  // namespace

ComparePage::ComparePage(std::shared_ptr<const CompareDocument> document, QWidget* parent)
    : Page(parent),
      document_(std::move(document)),
      candidate_(new TimelineView(document_->to)),
      baseline_(new TimelineView(document_->from)),
      parts_(new FigureTableModel(this)),
      operations_(new FigureTableModel(this)),
      step_(new QSpinBox),
      ghost_(new QCheckBox(tr("&baseline as a ghost below each lane"))) {
  const compare::TraceChange& change = *document_->report.comparisons.front().change;
  auto* heading_label = new QLabel(heading());
  heading_label->setWordWrap(true);
  heading_label->setContentsMargins(8, 4, 8, 4);
  heading_label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);

  auto* tables = new QSplitter(Qt::Horizontal);
  auto* operations = make_table(operations_, tr("Where the difference went, by operation"), FigureTableModel::kSort);
  auto* parts = make_table(parts_, tr("Where the difference went, by part of the step"));
  for (QTableView* table : {parts, operations}) {
    connect(table->model(), &QAbstractItemModel::modelReset, table, [table] { fit_columns(*table); });
    tables->addWidget(table);
  }
  tables->setSizes({420, 700});
  const auto go = [this](const QModelIndex& index) {
    const auto* sorted = qobject_cast<const QSortFilterProxyModel*>(index.model());
    go_to_operation(sorted == nullptr ? index.row() : sorted->mapToSource(index).row());
  };
  connect(operations, &QTableView::clicked, this, go);
  connect(operations, &QTableView::activated, this, go);

  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(titled(tr("candidate: %1").arg(text(document_->to->path)), candidate_));
  splitter->addWidget(titled(tr("baseline: %1").arg(text(document_->from->path)), baseline_));
  splitter->addWidget(tables);
  splitter->setSizes({300, 300, 220});

  auto* line = new QHBoxLayout;
  line->setContentsMargins(8, 0, 8, 0);
  line->addWidget(new QLabel(tr("step")));
  step_->setRange(1, std::max(1, std::min(num_steps(*document_->from->timeline), num_steps(*document_->to->timeline))));
  step_->setAccessibleName(tr("The step of either side that is held against the other's"));
  line->addWidget(step_);
  line->addWidget(ghost_);
  line->addStretch(1);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(heading_label);
  layout->addLayout(line);
  layout->addWidget(splitter, 1);

  parts_->set_table(parts_table(change));
  operations_->set_table(operations_table(change));
  connect(step_, &QSpinBox::valueChanged, this, [this](int value) { align(value - 1); });
  connect(ghost_, &QCheckBox::toggled, this, &ComparePage::show_as_ghost);
  connect(candidate_, &TimelineView::view_changed, this, [this] { follow(*candidate_, *baseline_, -shift_ns()); });
  connect(baseline_, &TimelineView::view_changed, this, [this] { follow(*baseline_, *candidate_, shift_ns()); });
  setFocusProxy(candidate_);
  align(0);
}

TimelineView* ComparePage::timeline() { return baseline_->hasFocus() ? baseline_ : candidate_; }

ChartInput ComparePage::chart_input() const {
  ChartInput input;
  input.name = document_->path;
  input.how_made = how_made(document_->to->traced.trace);
  input.comparison = &document_->report.comparisons.front();
  return input;
}

void ComparePage::set_theme(const Theme& theme) {
  candidate_->set_theme(theme);
  baseline_->set_theme(theme);
}

QString ComparePage::heading() const {
  const compare::CompareReport& report = document_->report;
  QString all = text(compare::sentence_of(report.comparisons.front()));
  if (!report.forced.empty()) all = tr("NOT COMPARABLE, compared all the same: %1\n%2").arg(text(report.forced), all);
  for (const compare::Difference& difference : report.differences)
    all += tr("\n%1: %2, was %3").arg(text(difference.what), text(difference.candidate), text(difference.baseline));
  return all;
}

std::int64_t ComparePage::begin_of_step(const Timeline& timeline, int nth) const {
  if (timeline.steps().empty()) return 0;
  const std::int32_t rank = timeline.steps().front().rank;
  for (const StepSpan& step : timeline.steps())
    if (step.rank == rank && nth-- == 0) return step.begin_ns;
  return timeline.steps().front().begin_ns;
}

std::int64_t ComparePage::shift_ns() const {
  return begin_of_step(*document_->to->timeline, nth_) - begin_of_step(*document_->from->timeline, nth_);
}

void ComparePage::align(int nth) {
  nth_ = nth;
  step_->setValue(nth + 1);
  if (ghost_->isChecked()) candidate_->set_ghost(Ghost{document_->from->timeline.get(), shift_ns()});
  const Timeline &now = *document_->to->timeline, &before = *document_->from->timeline;
  const std::int64_t begin = begin_of_step(now, nth);
  const std::int64_t longest = std::max(length_of_step(now, nth), length_of_step(before, nth));
  candidate_->show_range(begin, begin + longest);
}

void ComparePage::show_as_ghost(bool is_ghost) {
  ghost_->setChecked(is_ghost);
  baseline_->parentWidget()->setVisible(!is_ghost);
  candidate_->set_ghost(is_ghost ? std::optional(Ghost{document_->from->timeline.get(), shift_ns()}) : std::nullopt);
}

// Where steps are not known, of all there is.
std::int64_t ComparePage::length_of_step(const Timeline& timeline, int nth) const {
  const std::int64_t begin = begin_of_step(timeline, nth);
  for (const StepSpan& step : timeline.steps())
    if (step.rank == timeline.steps().front().rank && step.begin_ns == begin) return step.end_ns - step.begin_ns;
  return timeline.length_ns();
}

// The other side shows the same time within the step.
void ComparePage::follow(const TimelineView& leader, TimelineView& follower, std::int64_t shift_ns) {
  if (is_following_) return;
  is_following_ = true;
  const double begin = leader.state().begin_ns + static_cast<double>(shift_ns);
  if (follower.state().begin_ns != begin || follower.state().ns_per_pixel != leader.state().ns_per_pixel)
    follower.follow_time(begin, leader.state().ns_per_pixel);
  is_following_ = false;
}

std::uint32_t ComparePage::slice_of(const Timeline& timeline, const compare::OperationChange& operation) const {
  const std::int64_t begin = begin_of_step(timeline, nth_);
  std::uint32_t best = Timeline::kNoSlice;
  const Trace& trace = timeline.trace();
  for (std::uint32_t slice = 0; slice < trace.size(); ++slice) {
    const Tag& tag = trace.tag(slice);
    const std::string_view name = operation.purpose.empty() ? name_of(trace.name(slice)) : name_of(tag.purpose);
    if (name != (operation.purpose.empty() ? operation.name : operation.purpose)) continue;
    if (timeline.begin_ns(slice) < begin) continue;
    if (best == Timeline::kNoSlice || timeline.begin_ns(slice) < timeline.begin_ns(best)) best = slice;
  }
  return best;
}

void ComparePage::go_to_operation(int row) {
  const auto& operations = document_->report.comparisons.front().change->net;
  if (row < 0 || row >= static_cast<int>(operations.size())) return;
  const compare::OperationChange& operation = operations[static_cast<std::size_t>(row)];
  const std::uint32_t before = slice_of(*document_->from->timeline, operation);
  const std::uint32_t now = slice_of(*document_->to->timeline, operation);
  // The candidate last: its view is the one that both then show.
  if (before != Timeline::kNoSlice) baseline_->go_to(before);
  if (now != Timeline::kNoSlice) candidate_->go_to(now);
}

}  // namespace underlap::viewer
