// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <optional>

#include "platform/table.hpp"

namespace underlap::viewer {

/// A table as the command line prints it, for a view. Rows sort by the first figure of a text (role kSort).
class TextTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kSort = Qt::UserRole;

  /// Of texts that the command line prints with such a style.
  struct Colors {
    QColor good;
    QColor bad;
    QColor dim;
  };

  explicit TextTableModel(Table table = {}, QObject* parent = nullptr)
      : QAbstractTableModel(parent), table_(std::move(table)) {}

  void set_colors(const Colors& colors);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  Qt::Alignment alignment_of(int column) const;
  QVariant color_of(Style) const;

  Table table_;
  std::optional<Colors> colors_;
};

/// The figure at the start of a text, in its base unit: "+5.2 % [1, 9]" is 5.2, "1.5 ms" is 1.5e6 (nanoseconds), "2.0
/// MB" is 2e6. nullopt if the text does not start with a figure.
std::optional<double> leading_figure(const std::string& text);

}  // namespace underlap::viewer
