// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/facts_model.hpp"

#include <utility>

namespace underlap::viewer {

void FactsModel::set_facts(std::vector<Fact> facts) {
  beginResetModel();
  facts_ = std::move(facts);
  endResetModel();
}

int FactsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(facts_.size());
}

int FactsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : 2; }

QVariant FactsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const Fact& fact = facts_[static_cast<std::size_t>(index.row())];
  return QString::fromStdString(index.column() == 0 ? fact.label : fact.value);
}

}  // namespace underlap::viewer
