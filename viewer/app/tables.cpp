// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/tables.hpp"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <algorithm>

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
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setStretchLastSection(true);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setMinimumSectionSize(36);
  return table;
}

void fit_columns(QTableView& table) {
  constexpr int kRowsLookedAt = 100;
  table.horizontalHeader()->setResizeContentsPrecision(kRowsLookedAt);
  table.resizeColumnsToContents();
  const int widest = std::max(120, table.viewport()->width() / 2);
  for (int column = 0; table.model() != nullptr && column < table.model()->columnCount(); ++column)
    table.setColumnWidth(column, std::min(table.columnWidth(column), widest));
}

}  // namespace underlap::viewer
