// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/compare_page.hpp"

#include <fmt/format.h>

#include <QAbstractItemView>
#include <QApplication>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QListView>
#include <QSpinBox>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>

#include "viewer/app/labels.hpp"
#include "viewer/app/overview_bar.hpp"
#include "viewer/app/tables.hpp"
#include "viewer/model/operation_slices.hpp"
#include "viewer/model/page_tables.hpp"
#include "viewer/timeline/selection.hpp"

namespace underlap::viewer {
namespace {

QWidget* titled(const QString& title, TimelineView* timeline) {
  QLabel* label = plain_label(title);
  label->setContentsMargins(8, 2, 8, 2);
  return with_overview(label, timeline);
}

// Of the first rank that has steps.
const StepSpan* step_of(const Timeline& timeline, int nth) {
  const std::span<const StepSpan> steps = timeline.first_steps();
  return static_cast<std::size_t>(nth) < steps.size() ? &steps[static_cast<std::size_t>(nth)] : nullptr;
}

std::int64_t begin_of_step(const Timeline& timeline, int nth) {
  const StepSpan* step = step_of(timeline, nth);
  return step == nullptr ? 0 : step->begin_ns;
}

TimeRange shifted(const TimeRange& range, std::int64_t by_ns) { return {range.begin_ns + by_ns, range.end_ns + by_ns}; }

// Where steps are not known, of the whole trace.
std::int64_t length_of_step(const Timeline& timeline, int nth) {
  const StepSpan* step = step_of(timeline, nth);
  return step == nullptr ? timeline.length_ns() : step->end_ns - step->begin_ns;
}

}  // namespace

ComparePage::ComparePage(std::shared_ptr<const CompareDocument> document)
    : document_(std::move(document)),
      candidate_(new TimelineView(document_->to)),
      baseline_(new TimelineView(document_->from)),
      panels_(new QTabWidget),
      lanes_of_candidate_(make_lanes_list(candidate_->arrangement())),
      lanes_of_baseline_(make_lanes_list(baseline_->arrangement())),
      parts_(new FigureTableModel(this)),
      operations_(new FigureTableModel(this)),
      settings_(new FigureTableModel(this)),
      facts_(new FigureTableModel(this)),
      selection_(new SelectionPanel),
      step_(new QSpinBox),
      steps_(plain_label()),
      ghost_(new QCheckBox(tr("&baseline as a ghost below each lane"))),
      query_(new QLineEdit),
      found_text_(plain_label()),
      of_candidate_{{}, WorstExposed(*document_->to->timeline)},
      of_baseline_{{}, WorstExposed(*document_->from->timeline)} {
  auto* heading_label = sentence_label(heading());
  heading_label->setContentsMargins(8, 4, 8, 4);

  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(titled(tr("candidate: %1").arg(text(document_->to->path)), candidate_));
  splitter->addWidget(titled(tr("baseline: %1").arg(text(document_->from->path)), baseline_));
  splitter->addWidget(make_panels());
  splitter->setSizes({270, 270, 260});

  auto* layout = column_of(this, 0, 2);
  layout->addWidget(heading_label);
  layout->addWidget(make_line());
  layout->addWidget(splitter, 1);

  for (TimelineView* view : {candidate_, baseline_}) {
    connect(view, &TimelineView::slice_selected, this, [this, view](std::uint32_t slice) { show_slice(*view, slice); });
    connect(view, &TimelineView::range_selected, this, [this, view] { show_range(*view); });
    connect(view, &TimelineView::view_changed, this, [this, view] { follow(*view); });
  }
  connect(step_, &QSpinBox::valueChanged, this, [this](int value) { align(value - 1); });
  connect(ghost_, &QCheckBox::toggled, this, &ComparePage::show_as_ghost);
  setFocusProxy(candidate_);
  align(0);
}

QWidget* ComparePage::make_panels() {
  panels_->setDocumentMode(true);
  panels_->addTab(make_tables(), tr("Differences"));
  auto* details = make_table(facts_, tr("Details of the selected slice and of its counterpart"));
  details_ = details;
  say_when_empty(details, tr("Click a slice to see its details and those of its counterpart here."));
  show_facts(Timeline::kNoSlice, Timeline::kNoSlice);
  panels_->addTab(details_, tr("Details"));
  panels_->addTab(selection_, tr("Selection"));
  const auto& differing = document_->report.differences;
  if (!differing.empty()) panels_->addTab(make_settings(), tr("Different settings: %1").arg(differing.size()));
  panels_->addTab(lanes_of_candidate_, tr("Lanes of the candidate"));
  panels_->addTab(lanes_of_baseline_, tr("Lanes of the baseline"));
  return panels_;
}

QWidget* ComparePage::make_settings() {
  std::vector<Fact> facts;
  for (const compare::Difference& difference : document_->report.differences)
    facts.push_back({difference.what, difference.candidate + ", was " + difference.baseline});
  auto* table = make_table(settings_, tr("Settings and environment that differ between the sides"));
  table->horizontalHeader()->hide();
  settings_->set_table(facts_table({{"", std::move(facts)}}));
  return table;
}

QWidget* ComparePage::make_tables() {
  const compare::TraceChange& change = *document_->report.comparisons.front().change;
  auto* tables = new QSplitter(Qt::Horizontal);
  auto* operations = make_table(operations_, tr("Difference by operation"), FigureTableModel::kSort);
  auto* parts = make_table(parts_, tr("Difference by part of the step"));
  tables->addWidget(parts);
  tables->addWidget(operations);
  tables->setSizes({480, 700});
  when_chosen(operations, [this](const QModelIndex& index) { go_to_operation(source_row(index)); });
  parts_->set_table(parts_table(change));
  operations_->set_table(operations_table(change));
  return tables;
}

QWidget* ComparePage::make_line() {
  auto* line = new QWidget;
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(8, 0, 8, 0);
  const auto most =
      std::min(document_->from->timeline->first_steps().size(), document_->to->timeline->first_steps().size());
  step_->setRange(1, std::max(1, static_cast<int>(most)));
  step_->setSuffix(tr(" of %1").arg(step_->maximum()));
  layout->addWidget(steps_);
  step_->setAccessibleName(tr("Step to compare on both sides"));
  layout->addWidget(step_);
  layout->addWidget(ghost_);
  query_->setPlaceholderText(tr("find: words, mode:dp, kind:compute, exposed"));
  query_->setAccessibleName(tr("Find slices on both sides"));
  query_->setClearButtonEnabled(true);
  connect(query_, &QLineEdit::returnPressed, this, [this] {
    search();
    go_to_found(Towards::later);
  });
  layout->addWidget(query_, 1);
  layout->addWidget(found_text_);
  return line;
}

TimelineView* ComparePage::timeline() {
  return baseline_->hasFocus() || lanes_of_baseline_->hasFocus() ? baseline_ : candidate_;
}

QList<QWidget*> ComparePage::stops() {
  QList<QWidget*> all{candidate_, baseline_, step_, panels_->tabBar()};
  for (auto* in_panel : panels_->findChildren<QAbstractItemView*>()) all << in_panel;
  return all;
}

int ComparePage::lane_row() {
  for (const QListView* lanes : {lanes_of_candidate_, lanes_of_baseline_})
    if (lanes->hasFocus()) return lanes->currentIndex().row();
  return Page::lane_row();
}

ChartInput ComparePage::chart_input() const {
  return {.name = document_->path,
          .how_made = how_made(document_->to->traced.trace),
          .comparison = &document_->report.comparisons.front()};
}

void ComparePage::set_theme(const Theme& theme) {
  candidate_->set_theme(theme);
  baseline_->set_theme(theme);
}

// Below the lower one.
void ComparePage::set_legend(bool has_legend) {
  has_legend_ = has_legend;
  candidate_->set_legend(has_legend && ghost_->isChecked());
  baseline_->set_legend(has_legend && !ghost_->isChecked());
}

QString ComparePage::heading() const {
  const compare::CompareReport& report = document_->report;
  const compare::Comparison& comparison = report.comparisons.front();
  const Trace& candidate = document_->to->traced.trace;
  QString all = text(compare::sentence_of(comparison));
  all += tr("\nMeans over %1 windows (one step of one rank) on each side; %2")
             .arg(comparison.change->windows)
             .arg(text(how_made(candidate)));
  if (!is_modelled(candidate))
    all += tr("; one run per side, so run-to-run variation is unknown: Check against baseline compares several");
  if (!report.forced.empty()) all = tr("NOT COMPARABLE, compared anyway: %1\n%2").arg(text(report.forced), all);
  return all;
}

QString ComparePage::steps_text() const {
  const StepSpan *now = step_of(*document_->to->timeline, nth_), *before = step_of(*document_->from->timeline, nth_);
  if (now == nullptr || before == nullptr) return tr("all (no steps known)");
  if (now->step == before->step) return tr("step %1").arg(now->step);
  return tr("step %1 vs. step %2").arg(now->step).arg(before->step);
}

std::int64_t ComparePage::shift_from(const TimelineView& side) const {
  const std::int64_t to_candidate_ns =
      begin_of_step(*document_->to->timeline, nth_) - begin_of_step(*document_->from->timeline, nth_);
  return &side == candidate_ ? -to_candidate_ns : to_candidate_ns;
}

void ComparePage::update_ghost() {
  const Ghost ghost{document_->from->timeline.get(), shift_from(*baseline_)};
  candidate_->set_ghost(ghost_->isChecked() ? std::optional(ghost) : std::nullopt);
}

// A selected range moves with the step.
void ComparePage::align(int nth) {
  const std::int64_t before_ns = begin_of_step(*document_->to->timeline, std::exchange(nth_, nth));
  step_->setValue(nth + 1);
  steps_->setText(steps_text());
  update_ghost();
  const Timeline &now = *document_->to->timeline, &before = *document_->from->timeline;
  const std::int64_t begin = begin_of_step(now, nth);
  candidate_->set_origin(begin);
  baseline_->set_origin(begin_of_step(before, nth));
  if (const auto range = candidate_->state().range) candidate_->select_range(shifted(*range, begin - before_ns));
  const std::int64_t longest = std::max(length_of_step(now, nth), length_of_step(before, nth));
  candidate_->show_range({begin, begin + longest});
}

void ComparePage::show_as_ghost(bool is_ghost) {
  ghost_->setChecked(is_ghost);
  set_legend(has_legend_);
  baseline_->parentWidget()->setVisible(!is_ghost);
  update_ghost();
}

void ComparePage::mirror(const std::function<void()>& what) {
  if (std::exchange(is_mirroring_, true)) return;
  what();
  is_mirroring_ = false;
}

// The other side shows the same time within the step.
void ComparePage::follow(const TimelineView& leader) {
  mirror([&] {
    TimelineView& follower = other_than(leader);
    const double begin = leader.state().begin_ns + static_cast<double>(shift_from(leader));
    if (follower.state().begin_ns != begin || follower.state().ns_per_pixel != leader.state().ns_per_pixel)
      follower.follow_time(begin, leader.state().ns_per_pixel);
  });
}

void ComparePage::show_slice(const TimelineView& of, std::uint32_t slice) {
  mirror([&] {
    TimelineView& other = other_than(of);
    const bool is_any = slice < of.timeline().trace().size();
    const std::uint32_t there = is_any ? counterpart_of(of.timeline(), slice, other.timeline()) : Timeline::kNoSlice;
    other.select(there);
    show_facts(&of == candidate_ ? slice : there, &of == candidate_ ? there : slice);
    // A user who walks through a list keeps its panel.
    if (is_any && !panels_->isAncestorOf(QApplication::focusWidget())) panels_->setCurrentWidget(details_);
  });
}

void ComparePage::show_facts(std::uint32_t of_candidate, std::uint32_t of_baseline) {
  std::vector<Fact> now = facts_of_side(*document_->to, of_candidate),
                    before = facts_of_side(*document_->from, of_baseline);
  if (now.empty() && before.empty()) return facts_->set_table(facts_table({{"", {}}}));  // the header keeps its height
  for (std::vector<Fact>* side : {&now, &before})
    if (side->empty()) side->push_back({"name", "no counterpart in this step"});
  facts_->set_table(facts_table({{"candidate", std::move(now)}, {"baseline", std::move(before)}}));
}

std::vector<Fact> ComparePage::facts_of_side(const TraceDocument& side, std::uint32_t slice) const {
  if (slice >= side.traced.trace.size()) return {};
  std::vector<Fact> facts = facts_of(*side.timeline, side.traced.summary, slice);
  const std::optional<Alike> alike = alike_in_step(*side.timeline, slice);
  if (!alike) return facts;
  const std::int64_t in_step_ns = side.timeline->begin_ns(slice) - begin_of_step(*side.timeline, alike->nth_step);
  facts.insert(facts.begin() + 2,
               {{"start in the step", time_text(in_step_ns)},
                {"occurrence in the step", fmt::format("{} of {}", alike->index + 1, alike->slices.size())}});
  return facts;
}

void ComparePage::show_range(const TimelineView& of) {
  mirror([&] {
    const auto range = of.state().range;
    other_than(of).select_range(range ? std::optional(shifted(*range, shift_from(of))) : std::nullopt);
    if (range) panels_->setCurrentWidget(selection_);
    ask_for_selection();
  });
}

void ComparePage::ask_for_selection() {
  const auto &now = candidate_->state().range, &before = baseline_->state().range;
  if (!now || !before) return selection_->ask({});
  const std::int64_t begin_ns = now->begin_ns - begin_of_step(*document_->to->timeline, nth_);
  selection_->ask([document = document_, now = *now, before = *before, begin_ns]() -> RangeFigures {
    const Selection from = select(*document->from->timeline, before.begin_ns, before.end_ns),
                    to = select(*document->to->timeline, now.begin_ns, now.end_ns);
    return {tr("%1 selected on both sides, starting at %2 of the step; values are means over ranks, %3 in the "
               "candidate and %4 in the baseline")
                .arg(text(time_text(now.end_ns - now.begin_ns)), text(time_text(begin_ns)))
                .arg(to.ranks.size())
                .arg(from.ranks.size()),
            parts_change(from, to), names_change(from, to, kNamesOfSelection)};
  });
}

void ComparePage::go_to_operation(int row) {
  const auto& operations = document_->report.comparisons.front().change->net;
  if (row < 0 || row >= static_cast<int>(operations.size())) return;
  const compare::NetOperation& operation = operations[static_cast<std::size_t>(row)];
  const Timeline &before = *document_->from->timeline, &now = *document_->to->timeline;
  const std::uint32_t of_now = first_slice_of(now, nth_, operation);
  std::optional<std::int32_t> rank;
  if (of_now != Timeline::kNoSlice) rank = now.trace().track_of(of_now).rank;
  const std::uint32_t of_before = first_slice_of(before, nth_, operation, rank);
  // The candidate last: its view is the one that both then show.
  mirror([&] {
    if (of_before != Timeline::kNoSlice) baseline_->go_to(of_before);
    if (of_now != Timeline::kNoSlice) candidate_->go_to(of_now);
  });
  follow(of_now == Timeline::kNoSlice ? *baseline_ : *candidate_);
  show_facts(of_now, of_before);
}

QJsonObject ComparePage::kept_state() const {
  return {{"candidate", candidate_->kept_state()},
          {"baseline", baseline_->kept_state()},
          {"step", nth_},
          {"ghost", ghost_->isChecked()}};
}

// The step first, since that shows all of it.
void ComparePage::restore(const QJsonObject& state) {
  align(std::clamp(state["step"].toInt(), 0, step_->maximum() - 1));
  baseline_->restore(state["baseline"].toObject());
  candidate_->restore(state["candidate"].toObject());
  show_as_ghost(state["ghost"].toBool());
}

void ComparePage::find() {
  query_->setFocus();
  query_->selectAll();
}

void ComparePage::search() {
  try {
    const SearchQuery query = parse_query(query_->text().toStdString());
    of_candidate_.found = find_slices(candidate_->timeline(), query);
    of_baseline_.found = find_slices(baseline_->timeline(), query);
    found_text_->setText(query.is_empty() ? QString()
                                          : tr("%1 in the candidate, %2 in the baseline")
                                                .arg(of_candidate_.found.size())
                                                .arg(of_baseline_.found.size()));
  } catch (const std::invalid_argument& error) {
    of_candidate_.found = of_baseline_.found = {};
    found_text_->setText(text(error.what()));
  }
  candidate_->set_found(of_candidate_.found);
  baseline_->set_found(of_baseline_.found);
}

void ComparePage::go_to_found(Towards towards) { go_to_next_of(*timeline(), side().found, towards); }

void ComparePage::go_to_worst() { side().worst.go_to_next(*timeline()); }

}  // namespace underlap::viewer
