// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/run_page.hpp"

#include <QApplication>
#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <QTableView>
#include <sstream>

#include "profiler/report/answer.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/report_tables.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/tables.hpp"
#include "viewer/model/text_table_model.hpp"
#include "viewer/model/window_text.hpp"

namespace underlap::viewer {
namespace {

std::vector<int> cells_of(const QTableView& table) {
  std::vector<int> cells;
  for (const QModelIndex& index : table.selectionModel()->selectedRows()) cells.push_back(source_row(index));
  return cells;
}

// The names of cells that have traces lead to them, and look so.
class NameDelegate : public QStyledItemDelegate {
 public:
  NameDelegate(const RunDocument& document, QTableView* table) : QStyledItemDelegate(table) {
    for (std::size_t cell = 0; cell < document.results.cells.size(); ++cell)
      has_trace_.push_back(!trace_file_of(document, cell).empty());
    has_trace_.resize(has_trace_.size() + document.results.refused.size());  // these have a row too
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (!has_trace_.at(static_cast<std::size_t>(source_row(index)))) return;
    option->font.setUnderline(true);
    option->palette.setColor(QPalette::Text, option->palette.color(QPalette::Link));
  }

 private:
  std::vector<bool> has_trace_;  // by cell
};

}  // namespace

RunPage::RunPage(std::shared_ptr<const RunDocument> document)
    : document_(std::move(document)), charts_(new ChartPanel) {
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(make_tables());
  splitter->addWidget(charts_);
  splitter->setSizes({300, 400});
  auto* layout = column_of(this);
  layout->addWidget(make_summary());
  layout->addWidget(splitter, 1);
  charts_->set_input(chart_input());
}

// The answers first; as long as the summary is, the tables keep most of the page.
QWidget* RunPage::make_summary() {
  const report::RunResults& results = document_->results;
  std::vector<report::PairAnswer> answers = report::answers_of(results, document_->summaries);
  if (!answers.empty()) summary_ = text(report::headline(answers)) + "\n";
  if (answers.size() > 1)
    for (const report::PairAnswer& answer : report::foremost(answers, answers.size()))
      summary_ += "- " + text(report::answer_text(answer)) + "\n";
  std::istringstream warnings(report::report_warnings(results));
  for (std::string line; std::getline(warnings, line);) summary_ += text(window_text(line)) + "\n";
  summary_ += text(report::run_heading(results)).trimmed();
  QLabel* label = sentence_label(summary_);
  label->setContentsMargins(8, 4, 8, 4);
  label->setAlignment(Qt::AlignTop);
  constexpr qsizetype kMostLines = 9;
  auto* scrolled = new QScrollArea;
  scrolled->setFrameShape(QFrame::NoFrame);
  scrolled->setWidgetResizable(true);
  scrolled->setWidget(label);
  const qsizetype lines = std::min(kMostLines, summary_.count('\n') + 1);
  scrolled->setFixedHeight(static_cast<int>(lines) * label->fontMetrics().lineSpacing() + 10);
  return scrolled;
}

QWidget* RunPage::make_tables() {
  auto* tabs = new QTabWidget;
  tabs->setDocumentMode(true);
  std::vector<report::ReportSection> sections = report::report_sections(document_->results, document_->summaries);
  if (!sections.empty()) sections.front().title = "All columns";
  sections.insert(sections.begin(), {.title = "Cells",
                                     .about = "Times are per training step.",
                                     .table = report::brief_table(document_->results, document_->summaries)});
  for (report::ReportSection& section : sections) {
    auto* model = new TextTableModel(std::move(section.table), this);
    const bool is_cells = sections_.empty();
    sections_.push_back(model);
    auto* panel = new QWidget;
    auto* layout = column_of(panel, 0, 2);
    auto* about = sentence_label(text(section.about));
    about->setContentsMargins(8, 2, 8, 2);
    layout->addWidget(about);
    layout->addWidget(is_cells ? make_cells(model) : make_table(model, text(section.title), TextTableModel::kSort), 1);
    tabs->addTab(panel, text(section.title));
  }
  return tabs;
}

QWidget* RunPage::make_cells(TextTableModel* model) {
  auto* table = make_table(model, tr("Cells of the run"), TextTableModel::kSort);
  const auto open_selected = [this, table] {
    for (const int cell : cells_of(*table)) open_cell(cell);
  };
  connect(table, &QTableView::activated, this, open_selected);
  // A click on a name opens its trace; elsewhere, or with Ctrl, it selects.
  table->setItemDelegateForColumn(0, new NameDelegate(*document_, table));
  connect(table, &QTableView::clicked, this, [open_selected](const QModelIndex& index) {
    if (index.column() == 0 && QApplication::keyboardModifiers() == Qt::NoModifier) open_selected();
  });
  setFocusProxy(table);
  auto* panel = new QWidget;
  auto* layout = column_of(panel, 0, 4);
  layout->addWidget(table, 1);
  layout->addLayout(make_buttons(table));
  return panel;
}

QLayout* RunPage::make_buttons(QTableView* cells) {
  auto* open = new QPushButton(tr("Open &trace"));
  auto* compare = new QPushButton(tr("&Compare two cells"));
  auto* judge = new QPushButton(tr("Check against &baseline..."));
  judge->setObjectName("judge");
  compare->setToolTip(tr("The upper of the two selected cells is the baseline"));
  connect(open, &QPushButton::clicked, this, [this, cells] {
    for (const int cell : cells_of(*cells)) open_cell(cell);
  });
  connect(compare, &QPushButton::clicked, this, [this, cells] { compare_cells(cells_of(*cells)); });
  connect(judge, &QPushButton::clicked, this, &RunPage::other_run_wanted);
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(8, 0, 8, 4);
  for (QPushButton* button : {open, compare, judge}) buttons->addWidget(button);
  buttons->addStretch(1);
  return buttons;
}

ChartInput RunPage::chart_input() const {
  return {.name = document_->path, .run = &document_->results, .summaries = &document_->summaries};
}

QList<QWidget*> RunPage::stops() { return {focusProxy(), charts_->focusProxy()}; }

void RunPage::set_theme(const Theme& theme) {
  charts_->set_theme(theme);
  for (TextTableModel* section : sections_) section->set_colors({theme.better, theme.worse, theme.dim_text});
}

void RunPage::open_cell(int cell) {
  if (cell >= static_cast<int>(document_->results.cells.size()))
    return emit message_shown(tr("This cell was not run; its note has the reason."));
  const std::string file = trace_file_of(*document_, static_cast<std::size_t>(cell));
  const std::string& name = document_->results.cells[static_cast<std::size_t>(cell)].name;
  if (file.empty())
    return emit message_shown(
        tr("Cell %1 has no trace: it was not recorded, or its file was deleted.").arg(text(name)));
  emit trace_wanted(text(file));
}

void RunPage::compare_cells(const std::vector<int>& cells) {
  if (cells.size() != 2) return emit message_shown(tr("Select two cells: the upper one is the baseline."));
  const auto [first, second] = std::minmax(cells[0], cells[1]);
  if (second >= static_cast<int>(document_->results.cells.size()))
    return emit message_shown(tr("A cell that was not run cannot be compared."));
  const std::string from = trace_file_of(*document_, static_cast<std::size_t>(first));
  const std::string to = trace_file_of(*document_, static_cast<std::size_t>(second));
  if (from.empty() || to.empty()) return emit message_shown(tr("Cells without traces cannot be compared here."));
  emit comparison_wanted(text(from), text(to));
}

}  // namespace underlap::viewer
