// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/tables.hpp"

#include <QHeaderView>
#include <QSortFilterProxyModel>
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

}  // namespace

QTableView* make_table(QAbstractItemModel* model, const QString& name, int sort_role, QWidget* parent) {
  auto* table = new PanelTable(parent);
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
  table->setTextElideMode(Qt::ElideMiddle);  // names of cells and kernels are often told apart by their ends
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setStretchLastSection(true);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setMinimumSectionSize(36);
  return table;
}

// The widest columns give way, as far as it takes: names are cut, figures are not.
void fit_columns(QTableView& table) {
  constexpr int kRowsLookedAt = 100;
  constexpr int kLeast = 60;
  QHeaderView& header = *table.horizontalHeader();
  header.setResizeContentsPrecision(kRowsLookedAt);
  header.setStretchLastSection(false);  // which would keep the width that it had in a larger window
  table.resizeColumnsToContents();
  std::vector<int> widths;
  for (int column = 0; table.model() != nullptr && column < table.model()->columnCount(); ++column)
    widths.push_back(table.columnWidth(column));
  const auto sum_at = [&](int most) {
    return std::accumulate(widths.begin(), widths.end(), 0,
                           [&](int sum, int width) { return sum + std::min(width, most); });
  };
  int most = table.viewport()->width();
  while (most > kLeast && sum_at(most) > table.viewport()->width()) --most;
  for (std::size_t column = 0; column < widths.size(); ++column)
    table.setColumnWidth(static_cast<int>(column), std::min(widths[column], most));
  header.setStretchLastSection(true);
}

}  // namespace underlap::viewer
