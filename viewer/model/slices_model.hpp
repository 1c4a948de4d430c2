// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// Slices as rows, as a search found them: name, rank, lane, begin, duration, exposed. Rows are made when they are
/// shown, so ten million cost nothing. Sorts itself by any column, unless that would take noticeable time.
class SlicesModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kSlice = Qt::UserRole;          ///< role: the slice's number
  static constexpr std::size_t kMostSorted = 200'000;  ///< rows: more stay in the order in which they were set

  explicit SlicesModel(const Timeline& timeline, QObject* parent = nullptr)
      : QAbstractTableModel(parent), timeline_(&timeline) {}

  void set_slices(std::vector<std::uint32_t> slices);
  const std::vector<std::uint32_t>& slices() const { return slices_; }
  bool is_sortable() const { return slices_.size() <= kMostSorted; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  /// Column -1: as they were set.
  void sort(int column, Qt::SortOrder order) override;

 private:
  std::vector<std::uint32_t> sorted() const;

  const Timeline* timeline_;
  std::vector<std::uint32_t> slices_;  ///< in the order of the rows
  std::vector<std::uint32_t> as_set_;  ///< in theirs, where that is another
  int sorted_by_ = -1;
  Qt::SortOrder sort_order_ = Qt::AscendingOrder;
};

}  // namespace underlap::viewer
