// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <cstdint>
#include <vector>

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// Slices as rows, as a search found them: name, rank, lane, begin, duration, exposed. Rows are made when they are
/// looked at, so ten million cost nothing.
class SlicesModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kSlice = Qt::UserRole;  ///< role: the slice's number

  explicit SlicesModel(const Timeline& timeline, QObject* parent = nullptr)
      : QAbstractTableModel(parent), timeline_(&timeline) {}

  void set_slices(std::vector<std::uint32_t> slices);
  const std::vector<std::uint32_t>& slices() const { return slices_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const Timeline* timeline_;
  std::vector<std::uint32_t> slices_;
};

}  // namespace underlap::viewer
