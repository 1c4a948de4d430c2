// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/figure_table_model.hpp"

#include <cmath>
#include <utility>

namespace underlap::viewer {
namespace {

using analysis::FigureUnit;

// How a table shows figures of a unit.
struct ShownUnit {
  double size;       ///< one such unit, as a figure
  int digits;        ///< decimals
  const char* name;  ///< empty for a number
};

ShownUnit shown_unit(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::time: return {1e6, 3, "ms"};
    case FigureUnit::short_time: return {1e3, 2, "us"};
    case FigureUnit::percent: return {1, 1, "%"};
    case FigureUnit::megabytes: return {1e6, 2, "MB"};
    case FigureUnit::number: break;
  }
  return {1, 3, ""};
}

// The text of a figure in a table; empty if unknown.
QString figure_text(FigureUnit unit, std::optional<double> figure) {
  if (!figure) return {};
  const bool is_whole = unit == FigureUnit::number && *figure == std::floor(*figure);
  return QString::number(*figure / shown_unit(unit).size, 'f', is_whole ? 0 : shown_unit(unit).digits);
}

}  // namespace

void FigureTableModel::set_table(analysis::FigureTable table) {
  beginResetModel();
  table_ = std::move(table);
  endResetModel();
}

int FigureTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int FigureTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.names.size() + table_.columns.size());
}

QVariant FigureTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  const analysis::FigureRow& row = table_.rows[static_cast<std::size_t>(index.row())];
  const auto column = static_cast<std::size_t>(index.column());
  if (is_name(index.column())) {
    const QString name = QString::fromStdString(row.names[column]);
    return role == Qt::DisplayRole || role == Qt::ToolTipRole || role == kSort ? QVariant(name) : QVariant();
  }
  const std::optional<double>& figure = row.figures[column - table_.names.size()];
  switch (role) {
    case Qt::DisplayRole: return figure_text(table_.columns[column - table_.names.size()].unit, figure);
    case Qt::TextAlignmentRole: return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    case kSort: return figure ? QVariant(*figure) : QVariant();
    default: return {};
  }
}

QVariant FigureTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::TextAlignmentRole && !table_.columns.empty())
    return QVariant((is_name(section) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const auto column = static_cast<std::size_t>(section);
  if (is_name(section)) return QString::fromStdString(table_.names[column].title);
  const analysis::FigureColumn& figures = table_.columns[column - table_.names.size()];
  const QString title = QString::fromStdString(figures.title), unit = shown_unit(figures.unit).name;
  return title.split(' ').contains(unit) || unit.isEmpty() ? title : title + " " + unit;
}

}  // namespace underlap::viewer
