// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/figure_table_model.hpp"

#include <cmath>
#include <utility>

namespace underlap::viewer {
namespace {

using analysis::FigureUnit;

// The text of a figure in a table; empty if unknown.
QString figure_text(FigureUnit unit, std::optional<double> figure) {
  if (!figure) return {};
  switch (unit) {
    case FigureUnit::time: return QString::number(*figure / 1e6, 'f', 3);
    case FigureUnit::short_time: return QString::number(*figure / 1e3, 'f', 2);
    case FigureUnit::percent: return QString::number(*figure, 'f', 1);
    case FigureUnit::megabytes: return QString::number(*figure / 1e6, 'f', 2);
    case FigureUnit::number: break;
  }
  return QString::number(*figure, 'f', *figure == std::floor(*figure) ? 0 : 3);
}

// The unit of that text; empty for a number.
QString unit_text(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::time: return "ms";
    case FigureUnit::short_time: return "us";
    case FigureUnit::percent: return "%";
    case FigureUnit::megabytes: return "MB";
    case FigureUnit::number: break;
  }
  return {};
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
  const QString title = QString::fromStdString(figures.title), unit = unit_text(figures.unit);
  return title.split(' ').contains(unit) || unit.isEmpty() ? title : title + " " + unit;
}

}  // namespace underlap::viewer
