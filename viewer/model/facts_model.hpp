// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {

/// What is known of a slice: a label and a value a row.
class FactsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit FactsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void set_facts(std::vector<Fact> facts);
  const std::vector<Fact>& facts() const { return facts_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<Fact> facts_;
};

}  // namespace underlap::viewer
