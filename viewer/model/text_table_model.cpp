// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/text_table_model.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace underlap::viewer {

std::optional<double> leading_figure(const std::string& text) {
  const char* end = text.data() + text.size();
  const char* begin = text.starts_with('+') || text.starts_with('[') ? text.data() + 1 : text.data();
  double figure = 0;
  const auto [stop, error] = std::from_chars(begin, end, figure);
  if (error != std::errc()) return std::nullopt;
  const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
      {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"MB", 1e6}, {"GB", 1e9}}};
  for (const auto& [unit, size] : kUnits)
    if (rest.starts_with(' ') && rest.substr(1, rest.find(' ', 1) - 1) == unit) return figure * size;
  return figure;
}

void TextTableModel::set_colors(const Colors& colors) {
  colors_ = colors;
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1), {Qt::ForegroundRole});
}

int TextTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int TextTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.columns.size());
}

Qt::Alignment TextTableModel::alignment_of(int column) const {
  const bool is_left = table_.columns[static_cast<std::size_t>(column)].align == Align::left;
  return (is_left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter;
}

QVariant TextTableModel::color_of(Style style) const {
  if (!colors_) return {};
  switch (style) {
    case Style::good: return colors_->good;
    case Style::bad: return colors_->bad;
    case Style::dim: return colors_->dim;
    default: return {};
  }
}

QVariant TextTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  const TableCell& cell = table_.rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole: return QString::fromStdString(cell.text);
    case Qt::TextAlignmentRole: return QVariant(alignment_of(index.column()));
    case Qt::ForegroundRole: return color_of(cell.style);
    case kSort: {
      const bool is_name = table_.columns[static_cast<std::size_t>(index.column())].align == Align::left;
      if (is_name) return QString::fromStdString(cell.text);
      const std::optional<double> figure = leading_figure(cell.text);
      return figure ? QVariant(*figure) : QVariant();
    }
    default: return {};
  }
}

QVariant TextTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::TextAlignmentRole) return QVariant(alignment_of(section));
  if (role != Qt::DisplayRole) return {};
  return QString::fromStdString(table_.columns[static_cast<std::size_t>(section)].title);
}

}  // namespace underlap::viewer
