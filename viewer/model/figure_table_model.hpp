// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>

#include "profiler/analysis/figure_table.hpp"

namespace underlap::viewer {

/// A table of figures for a view: names at the left, figures in their units. Sorts by what they are, not by their texts
/// (role kSort).
class FigureTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kSort = Qt::UserRole;

  explicit FigureTableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void set_table(analysis::FigureTable table);
  const analysis::FigureTable& table() const { return table_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  bool is_name(int column) const { return column < static_cast<int>(table_.names.size()); }

  analysis::FigureTable table_;
};

}  // namespace underlap::viewer
