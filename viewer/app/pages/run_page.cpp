// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/pages/run_page.hpp"

#include <QApplication>
#include <QHBoxLayout>
#include <QPushButton>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>

#include "profiler/report/answer.hpp"
#include "viewer/app/chart_panel.hpp"
#include "viewer/app/labels.hpp"
#include "viewer/app/tables.hpp"
#include "viewer/model/matrix_table.hpp"

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
    : document_(std::move(document)), matrix_(new FigureTableModel(this)), charts_(new ChartPanel) {
  auto* table = make_table(matrix_, tr("Cells of the run"), FigureTableModel::kSort);
  table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  auto* open = new QPushButton(tr("Open &trace"));
  auto* compare = new QPushButton(tr("&Compare two"));
  auto* judge = new QPushButton(tr("Compare with another &run..."));
  judge->setObjectName("judge");
  connect(judge, &QPushButton::clicked, this, &RunPage::other_run_wanted);
  compare->setToolTip(tr("The upper of the two selected cells is the baseline"));
  const auto open_selected = [this, table] {
    for (const int cell : cells_of(*table)) open_cell(cell);
  };
  connect(open, &QPushButton::clicked, this, open_selected);
  connect(table, &QTableView::activated, this, open_selected);
  // A click on a name opens its trace; elsewhere, or with Ctrl, it selects.
  table->setItemDelegateForColumn(0, new NameDelegate(*document_, table));
  connect(table, &QTableView::clicked, this, [open_selected](const QModelIndex& index) {
    if (index.column() == 0 && QApplication::keyboardModifiers() == Qt::NoModifier) open_selected();
  });
  connect(compare, &QPushButton::clicked, this, [this, table] { compare_cells(cells_of(*table)); });

  auto* buttons = new QHBoxLayout;
  for (QPushButton* button : {open, compare, judge}) buttons->addWidget(button);
  buttons->addStretch(1);
  auto* left = new QWidget;
  auto* left_layout = new QVBoxLayout(left);
  left_layout->addWidget(sentence_label(heading()));
  left_layout->addWidget(table, 1);
  left_layout->addLayout(buttons);
  auto* splitter = new QSplitter(Qt::Horizontal);
  splitter->addWidget(left);
  splitter->addWidget(charts_);
  splitter->setSizes({620, 620});
  column_of(this)->addWidget(splitter);
  setFocusProxy(table);

  matrix_->set_table(matrix_table(document_->summaries));
  charts_->set_input(chart_input());
}

ChartInput RunPage::chart_input() const {
  return {.name = document_->path, .run = &document_->results, .summaries = &document_->summaries};
}

QList<QWidget*> RunPage::stops() { return {focusProxy(), charts_->focusProxy()}; }

void RunPage::set_theme(const Theme& theme) { charts_->set_theme(theme); }

// The same first lines as in the terminal: the answer, and whether it was measured.
QString RunPage::heading() const {
  const std::string answer = report::headline(report::answers_of(document_->results, document_->summaries));
  QString all = text(how_made(document_->results.info));
  if (!answer.empty()) all = text(answer) + "\n" + all;
  const auto done = document_->results.blocks_done, planned = document_->results.blocks_planned;
  if (done < planned) all += tr("\nunfinished: %1 of %2 blocks").arg(done).arg(planned);
  return all;
}

void RunPage::open_cell(int cell) {
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
  const std::string from = trace_file_of(*document_, static_cast<std::size_t>(first));
  const std::string to = trace_file_of(*document_, static_cast<std::size_t>(second));
  if (from.empty() || to.empty()) return emit message_shown(tr("Cells without traces cannot be compared here."));
  emit comparison_wanted(text(from), text(to));
}

}  // namespace underlap::viewer
