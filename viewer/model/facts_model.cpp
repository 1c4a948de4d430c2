// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/facts_model.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace underlap::viewer {

void FactsModel::set_sides(std::vector<FactsOfSide> sides) {
  beginResetModel();
  sides_ = std::move(sides);
  rows_.clear();
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    std::map<std::string, std::size_t> seen;  // how often, by label
    std::size_t next = 0;                     // where a row that no side before had is put in
    for (const Fact& fact : sides_[side].facts) {
      std::size_t nth = seen[fact.label]++;
      auto row = std::ranges::find_if(rows_, [&](const Row& one) { return one.label == fact.label && nth-- == 0; });
      if (row == rows_.end())
        row = rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(next),
                           {fact.label, std::vector<std::string>(sides_.size())});
      row->values[side] = fact.value;
      next = static_cast<std::size_t>(row - rows_.begin()) + 1;
    }
  }
  endResetModel();
}

int FactsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int FactsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : 1 + static_cast<int>(sides_.size());
}

QVariant FactsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  return QString::fromStdString(index.column() == 0 ? row.label
                                                    : row.values[static_cast<std::size_t>(index.column() - 1)]);
}

QVariant FactsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 1 || section >= columnCount()) return {};
  return QString::fromStdString(sides_[static_cast<std::size_t>(section - 1)].side);
}

}  // namespace underlap::viewer
