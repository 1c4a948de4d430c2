// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/tables.hpp"

#include <QAbstractItemView>
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

// Of the rows that are looked at, with room for the grid.
int content_width(const QTableView& table, int column) {
  return static_cast<const QAbstractItemView&>(table).sizeHintForColumn(column) + 1;
}

int sum_of(const std::vector<int>& widths) { return std::accumulate(widths.begin(), widths.end(), 0); }

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
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setMinimumSectionSize(36);
  return table;
}

// Where titles are wider than what stands below them, they give way first. Then the widest columns do, as far as it
// takes: names are cut, figures are not.
void fit_columns(QTableView& table) {
  constexpr int kRowsLookedAt = 100;
  constexpr int kLeast = 60;
  if (table.model() == nullptr) return;
  QHeaderView& header = *table.horizontalHeader();
  header.setResizeContentsPrecision(kRowsLookedAt);
  const int room = table.viewport()->width();
  std::vector<int> widths, contents;
  for (int column = 0; column < table.model()->columnCount(); ++column) {
    contents.push_back(std::max(content_width(table, column), header.minimumSectionSize()));
    widths.push_back(header.isHidden() ? contents.back() : std::max(contents.back(), header.sectionSizeHint(column)));
  }
  int lacking = sum_of(widths) - room;
  for (std::size_t column = 0; column < widths.size() && lacking > 0; ++column) {
    const int given = std::min(lacking, widths[column] - contents[column]);
    widths[column] -= given;
    lacking -= given;
  }
  const auto sum_at = [&](int most) {
    return std::accumulate(widths.begin(), widths.end(), 0,
                           [&](int sum, int width) { return sum + std::min(width, most); });
  };
  int most = room;
  while (most > kLeast && sum_at(most) > room) --most;
  for (std::size_t column = 0; column < widths.size(); ++column)
    table.setColumnWidth(static_cast<int>(column), std::min(widths[column], most));
}

}  // namespace underlap::viewer
