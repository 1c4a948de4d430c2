// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/tables.hpp"

#include <QAbstractItemView>
#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QStyle>
#include <QStyleOptionHeader>
#include <QTableView>
#include <algorithm>
#include <numeric>
#include <vector>

namespace underlap::viewer {
namespace {

// Fits its columns to the room that it gets, until a person sets their widths.
class PanelTable : public QTableView {
 public:
  using QTableView::QTableView;

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QTableView::resizeEvent(event);
    fit_columns(*this);
  }
};

// Cuts titles in their middle where they do not fit: Qt's own would show their ends alone.
class TitleBar : public QHeaderView {
 public:
  TitleBar() : QHeaderView(Qt::Horizontal) { setSectionsClickable(true); }

 protected:
  void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override {
    QHeaderView::initStyleOptionForIndex(option, section);
    const int margins = 2 * style()->pixelMetric(QStyle::PM_HeaderMargin, nullptr, this);
    option->text = option->fontMetrics.elidedText(option->text, Qt::ElideMiddle, sectionSize(section) - margins);
  }
};

// The width of the contents of the rows that Qt measures, with room for the grid.
int content_width(const QTableView& table, int column) {
  return static_cast<const QAbstractItemView&>(table).sizeHintForColumn(column) + 1;
}

int sum_of(const std::vector<int>& widths) { return std::accumulate(widths.begin(), widths.end(), 0); }

// As far as there is too little room, and none below `least`.
void cut_widest(std::vector<int>& widths, int room, int least) {
  for (int lacking = sum_of(widths) - room; lacking > 0; --lacking) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= least) return;
    --*widest;
  }
}

// The same for titles, which keep at least the width of their contents.
void cut_titles(std::vector<int>& widths, const std::vector<int>& contents, int room) {
  int lacking = sum_of(widths) - room;
  for (std::size_t column = 0; column < widths.size() && lacking > 0; ++column) {
    const int given = std::min(lacking, std::max(0, widths[column] - contents[column]));
    widths[column] -= given;
    lacking -= given;
  }
}

}  // namespace

QTableView* make_table(QAbstractItemModel* model, const QString& name, int sort_role) {
  auto* table = new PanelTable;
  table->setHorizontalHeader(new TitleBar);
  table->setAccessibleName(name);
  if (sort_role >= 0) {
    auto* sorted = new QSortFilterProxyModel(table);
    sorted->setSourceModel(model);
    sorted->setSortRole(sort_role);
    table->setModel(sorted);
    table->setSortingEnabled(true);
    table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    sorted->sort(-1);
  } else {
    table->setModel(model);
  }
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setTextElideMode(Qt::ElideMiddle);  // names of cells and kernels often differ only at their ends
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setMinimumSectionSize(36);
  QObject::connect(table->model(), &QAbstractItemModel::modelReset, table, [table] { fit_columns(*table); });
  return table;
}

int source_row(const QModelIndex& of_table) {
  const auto* sorted = qobject_cast<const QSortFilterProxyModel*>(of_table.model());
  return sorted == nullptr ? of_table.row() : sorted->mapToSource(of_table).row();
}

void when_chosen(QTableView* table, std::function<void(const QModelIndex&)> go) {
  QObject::connect(table, &QTableView::clicked, table, go);
  QObject::connect(table, &QTableView::activated, table, go);
}

// If there is too little room, names of more than a third of it are cut first, since kernels have names of any length.
// Then titles that are wider than their column's contents are cut, and then the widest columns: names are cut, figures
// are not.
void fit_columns(QTableView& table) {
  constexpr int kRowsLookedAt = 100;
  constexpr int kLeast = 60;
  constexpr int kLeastTitle = 8;  // characters
  if (table.model() == nullptr) return;
  QHeaderView& header = *table.horizontalHeader();
  header.setResizeContentsPrecision(kRowsLookedAt);
  const int room = table.viewport()->width(), least_title = kLeastTitle * table.fontMetrics().averageCharWidth();
  std::vector<int> widths, contents;
  for (int column = 0; column < table.model()->columnCount(); ++column) {
    const int title = header.isHidden() ? 0 : header.sectionSizeHint(column);
    contents.push_back(std::max(content_width(table, column), std::min(title, least_title)));
    widths.push_back(std::max(contents.back(), title));
  }
  cut_widest(widths, room, room / 3);
  cut_titles(widths, contents, room);
  cut_widest(widths, room, kLeast);
  for (std::size_t column = 0; column < widths.size(); ++column)
    table.setColumnWidth(static_cast<int>(column), widths[column]);
}

}  // namespace underlap::viewer
