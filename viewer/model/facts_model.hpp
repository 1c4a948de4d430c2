// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <string>
#include <utility>
#include <vector>

#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {

/// What is known of a slice of one side.
struct FactsOfSide {
  std::string side;
  std::vector<Fact> facts;
};

/// The facts about a slice: one label and one value per row. For corresponding slices, one value per side.
class FactsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit FactsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void set_facts(std::vector<Fact> facts) { set_sides({{"", std::move(facts)}}); }
  /// One row for each label of any side, in their order. A label that a side has twice gets two rows, matched in order.
  void set_sides(std::vector<FactsOfSide> sides);
  /// Those of the first side.
  const std::vector<Fact>& facts() const { return sides_.front().facts; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    std::string label;
    std::vector<std::string> values;  ///< by side
  };

  std::vector<FactsOfSide> sides_ = std::vector<FactsOfSide>(1);
  std::vector<Row> rows_;
};

}  // namespace underlap::viewer
