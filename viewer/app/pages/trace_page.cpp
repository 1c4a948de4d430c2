// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/trace_page.hpp"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QtConcurrent>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/overview_bar.hpp"
#include "viewer/app/tables.hpp"
#include "viewer/model/page_tables.hpp"
#include "viewer/timeline/selection.hpp"
#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {
namespace {

constexpr int kAfterTyping = 120;  // milliseconds

// A click or Enter on a row of slices selects it on the timeline. A click on a title sorts; the third one stops
// sorting.
void go_on_activation(QTableView* table, TimelineView* timeline) {
  table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  table->horizontalHeader()->setSortIndicatorClearable(true);
  table->setSortingEnabled(true);
  when_chosen(table, [timeline](const QModelIndex& index) {
    if (index.isValid()) timeline->go_to(index.siblingAtColumn(0).data(SlicesModel::kSlice).toUInt());
  });
}

}  // namespace

TracePage::TracePage(std::shared_ptr<const TraceDocument> document)
    : document_(std::move(document)),
      timeline_(new TimelineView(document_)),
      panels_(new QTabWidget),
      lanes_(make_lanes_list(timeline_->arrangement())),
      facts_(new FigureTableModel(this)),
      selection_(new SelectionPanel),
      modes_(new ModePanel(document_)),
      breakdown_(new FigureTableModel(this)),
      found_(new SlicesModel(*document_->timeline, this)),
      worst_(new SlicesModel(*document_->timeline, this, &document_->traced.summary)),
      worst_exposed_(*document_->timeline) {
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(make_timeline());
  splitter->addWidget(panels_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({600, 230});
  column_of(this)->addWidget(splitter);
  panels_->setDocumentMode(true);
  auto* details = make_table(facts_, tr("Details of the selected slice"));
  details->horizontalHeader()->hide();
  say_when_empty(details, tr("Click a slice to see its details here. Drag over the ruler to select a range."));
  panels_->addTab(details, tr("Details"));
  panels_->addTab(selection_, tr("Selection"));
  panels_->addTab(make_search(), tr("Find"));
  panels_->addTab(make_worst(), tr("Worst exposed"));
  panels_->addTab(make_analysis(), tr("Analysis"));
  panels_->addTab(modes_, tr("Modes"));
  panels_->addTab(lanes_, tr("Lanes"));
  auto* report = new QPlainTextEdit(trace_text());
  report->setReadOnly(true);
  report->setAccessibleName(tr("How the trace was read"));
  panels_->addTab(report, tr("Trace"));
  connect(timeline_, &TimelineView::slice_selected, this, &TracePage::show_facts);
  connect(timeline_, &TimelineView::range_selected, this, [this](bool is_any) {
    ask_for_selection();
    if (is_any) panels_->setCurrentWidget(selection_);
  });
  connect(&breaking_down_, &QFutureWatcherBase::finished, this, [this] {
    if (!breaking_down_.isCanceled()) breakdown_->set_table(breaking_down_.result());
  });
  selection_->offer_ranks(document_->timeline->ranks());
  connect(selection_, &SelectionPanel::rank_chosen, this, &TracePage::ask_for_selection);
  connect_menus();
  setFocusProxy(timeline_);
}

void TracePage::connect_menus() {
  const auto show = [this](const auto& of, const QPoint& at, const QList<QAction*>& others) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    modes_->fill_menu(*menu, of);
    if (!others.isEmpty()) menu->addSeparator();
    menu->addActions(others);
    if (!menu->isEmpty()) menu->popup(at);
  };
  connect(timeline_, &TimelineView::menu_wanted, this,
          [show](std::uint32_t slice, const QPoint& at) { show(slice, at, {}); });
  connect(selection_, &SelectionPanel::menu_wanted, this, show);
  connect(modes_, &ModePanel::failed, this, [this] { panels_->setCurrentWidget(modes_); });
  // Queued, since reading again deletes this page.
  connect(modes_, &ModePanel::changed, this, &TracePage::read_again_wanted, Qt::QueuedConnection);
}

// Of a trace with as many slices the selected slice and the panel that was shown.
QJsonObject TracePage::kept_state() const {
  QJsonObject state = timeline_->kept_state();
  const auto size = static_cast<qint64>(document_->traced.trace.size());
  state["page"] = QJsonObject{{"slices", size},
                              {"selected", static_cast<qint64>(timeline_->state().selected)},
                              {"panel", panels_->currentIndex()}};
  return state;
}

void TracePage::restore(const QJsonObject& state) {
  timeline_->restore(state);
  const QJsonObject page = state["page"].toObject();
  const auto size = static_cast<qint64>(document_->traced.trace.size());
  const qint64 selected = page["selected"].toInteger(size);
  if (page["slices"].toInteger() == size && selected < size) timeline_->select(static_cast<std::uint32_t>(selected));
  panels_->setCurrentIndex(page["panel"].toInt());
}

ChartInput TracePage::chart_input() const {
  return {.name = document_->path, .trace = &document_->traced.trace, .summary = &document_->traced.summary};
}

void TracePage::set_theme(const Theme& theme) { timeline_->set_theme(theme); }

// In a panel the first that takes keys.
QList<QWidget*> TracePage::stops() {
  QList<QWidget*> in_panel = panels_->currentWidget()->findChildren<QWidget*>();
  in_panel.prepend(panels_->currentWidget());
  const auto first = std::ranges::find_if(
      in_panel, [](const QWidget* widget) { return widget->isVisible() && widget->focusPolicy() & Qt::TabFocus; });
  return {timeline_, panels_->tabBar(), first == in_panel.end() ? nullptr : *first};
}

int TracePage::lane_row() { return lanes_->hasFocus() ? lanes_->currentIndex().row() : Page::lane_row(); }

QWidget* TracePage::make_timeline() {
  const QString answer = answer_text();
  if (answer.isEmpty()) return with_overview(nullptr, timeline_);
  auto* label = new QLabel(answer);
  label->setTextFormat(Qt::RichText);
  label->setObjectName("answer");
  label->setWordWrap(true);
  label->setContentsMargins(8, 4, 8, 4);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return with_overview(label, timeline_);
}

// The first lines of `underlap analyze`, after any warnings that the analysis may be wrong.
QString TracePage::answer_text() const {
  QStringList lines, sentences;
  for (const std::string& fault : analysis::faults(document_->traced.trace, document_->traced.summary))
    lines << tr("<b>%1</b>").arg(text(fault).toHtmlEscaped());
  for (const std::string& sentence : document_->headline)
    sentences
        << text(sentence).replace(text(analysis::kAssignHint), tr("right-click a slice to assign it")).toHtmlEscaped();
  if (!document_->mode_map_fault.empty())
    lines << tr("<b>The mode map was not applied: %1</b>").arg(text(document_->mode_map_fault).toHtmlEscaped());
  if (!sentences.isEmpty()) lines << sentences.join(" ");
  return document_->is_partial ? QString() : lines.join("<br>");
}

QWidget* TracePage::make_search() {
  auto* panel = new QWidget;
  query_ = new QLineEdit;
  query_->setPlaceholderText(tr("words of a name or purpose, mode:dp, kind:compute, rank:3, stream:comm, exposed"));
  query_->setAccessibleName(tr("Find slices"));
  query_->setClearButtonEnabled(true);
  found_text_ = plain_label();
  auto* table = make_table(found_, tr("Matching slices"));
  go_on_activation(table, timeline_);
  auto* line = new QHBoxLayout;
  line->addWidget(query_, 1);
  line->addWidget(found_text_);
  auto* layout = column_of(panel, 4, 4);
  layout->addLayout(line);
  layout->addWidget(table, 1);
  search_after_typing_.setSingleShot(true);
  connect(query_, &QLineEdit::textEdited, this, [this] { search_after_typing_.start(kAfterTyping); });
  connect(&search_after_typing_, &QTimer::timeout, this, [this] { search(query_->text()); });
  connect(query_, &QLineEdit::returnPressed, this, [this] {
    search(query_->text());
    go_to_found(Towards::later);
  });
  return panel;
}

QWidget* TracePage::make_worst() {
  auto* table = make_table(worst_, tr("Longest exposed communication"));
  say_when_empty(table, tr("No communication is exposed."));
  go_on_activation(table, timeline_);
  worst_->set_slices(worst_exposed_.slices());
  return table;
}

QWidget* TracePage::make_analysis() {
  auto* panel = new QWidget;
  auto* by = new QComboBox;
  by->setAccessibleName(tr("Group by"));
  for (int i = 0; i < analysis::kNumBreakdowns; ++i)
    by->addItem(tr("by %1").arg(text(to_string(static_cast<analysis::Breakdown>(i)))));
  auto* table = make_table(breakdown_, tr("Analysis of the steps"), FigureTableModel::kSort);
  // Computed when it is first shown, since it takes a while for a large trace.
  connect(panels_, &QTabWidget::currentChanged, this, [this, panel, by] {
    if (panels_->currentWidget() == panel && breakdown_->rowCount() == 0) ask_for_breakdown(by->currentIndex());
  });
  connect(by, &QComboBox::currentIndexChanged, this, &TracePage::ask_for_breakdown);
  auto* layout = column_of(panel, 4, 4);
  layout->addWidget(by, 0, Qt::AlignLeft);
  layout->addWidget(table, 1);
  return panel;
}

QString TracePage::trace_text() const {
  const input::CellTrace& traced = document_->traced;
  QString all = tr("%1 events read, %2 slices").arg(traced.trace.import.events).arg(traced.trace.size());
  if (document_->is_partial) all = tr("Still being read. ") + all;
  all += "\n";
  for (const auto& [reason, count] : traced.trace.import.skipped)
    all += tr("skipped %1: %2\n").arg(count).arg(text(reason));
  for (const std::string& error : traced.summary.window_errors) all += text(error) + "\n";
  all += tr("steps: %1\n").arg(text(analysis::steps_text(traced.summary)));
  for (const std::string& file : traced.files) all += text(file) + "\n";
  for (const auto& [key, value] : traced.trace.metadata)
    if (value.size() < 200) all += QString("%1: %2\n").arg(text(key), text(value));
  return all;
}

void TracePage::show_facts(std::uint32_t slice) {
  if (slice >= document_->traced.trace.size()) return facts_->set_table({});
  facts_->set_table(facts_table({{"", facts_of(timeline_->timeline(), document_->traced.summary, slice)}}));
  // A user who walks through a list keeps its panel.
  if (!panels_->isAncestorOf(QApplication::focusWidget())) panels_->setCurrentIndex(0);
}

void TracePage::ask_for_selection() {
  const auto& range = timeline_->state().range;
  if (!range) return selection_->ask({});
  const auto [begin_ns, end_ns] = *range;
  selection_->ask(
      [document = document_, begin_ns = begin_ns, end_ns = end_ns, rank = selection_->rank()]() -> RangeFigures {
        const Selection selection = select(*document->timeline, begin_ns, end_ns, rank);
        const QString selected =
            tr("%1 selected, starting at %2").arg(text(time_text(end_ns - begin_ns)), text(time_text(begin_ns)));
        const std::size_t ranks = selection.ranks.size();
        return {ranks > 1 ? tr("%1; values are means over %2 ranks").arg(selected).arg(ranks) : selected,
                parts_of(selection), names_of(selection, kNamesOfSelection)};
      });
}

void TracePage::ask_for_breakdown(int index) {
  if (document_->is_partial) return;  // of a part it would be no analysis
  const auto by = static_cast<analysis::Breakdown>(std::max(index, 0));
  breaking_down_.setFuture(QtConcurrent::run([document = document_, by] {
    return analysis::breakdown(document->traced.trace, document->traced.summary, by);
  }));
}

std::function<void()> TracePage::going_on_from(const TracePage& part) {
  LaneArrangement& lanes_of_part = part.timeline_->arrangement();
  return [this, lanes = lanes_of_part.is_changed() ? lanes_of_part.state() : QJsonObject(),
          state = part.timeline_->state(), is_moved = part.timeline_->is_moved(), panel = part.panels_->currentIndex(),
          words = part.query_->text(), is_typing = part.query_->hasFocus()] {
    timeline_->go_on_from(lanes, state, is_moved);
    if (!words.isEmpty()) search(words);
    if (state.range) ask_for_selection();
    panels_->setCurrentIndex(panel);
    if (is_typing) find();
  };
}

void TracePage::find() {
  panels_->setCurrentIndex(2);
  query_->setFocus();
  query_->selectAll();
}

void TracePage::search(const QString& words) {
  try {
    if (query_->text() != words) query_->setText(words);
    found_->set_slices(find_slices(timeline_->timeline(), parse_query(words.toStdString())));
    const QString too_many = found_->is_sortable() ? QString() : tr(", too many to sort and to mark");
    timeline_->set_found(found_->slices());
    found_text_->setText(words.isEmpty() ? QString() : tr("%1 found%2").arg(found_->slices().size()).arg(too_many));
  } catch (const std::invalid_argument& error) {
    found_->set_slices({});
    timeline_->set_found({});
    found_text_->setText(text(error.what()));
  }
}

void TracePage::go_to_found(Towards towards) {
  if (found_->slices().empty()) return;
  go_to_next_of(*timeline_, found_->slices(), towards);
  panels_->setCurrentIndex(2);
}

void TracePage::go_to_worst() { worst_exposed_.go_to_next(*timeline_); }

}  // namespace underlap::viewer
