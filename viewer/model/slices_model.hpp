// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>

#include <unordered_map>

#include "viewer/timeline/slice_facts.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// Slices as rows, as a search found them: name, rank, lane, begin, duration, exposed; with a summary also exposed wait
/// and transfer, late rank and cause. Rows are made when they are shown, so ten million cost nothing without a summary.
/// Sorts itself by any column, unless that would take noticeable time.
class SlicesModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kSlice = Qt::UserRole;          ///< role: the slice's number
  static constexpr std::size_t kMostSorted = 200'000;  ///< rows: more stay in the order in which they were set

  explicit SlicesModel(const Timeline& timeline, QObject* parent = nullptr, const analysis::Summary* summary = nullptr)
      : QAbstractTableModel(parent), timeline_(&timeline), summary_(summary) {}

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
  /// What rows are sorted by: a number or a name.
  using Key = std::pair<std::int64_t, std::string_view>;
  Key key_of(std::uint32_t slice, int column) const;
  QString value_of(std::uint32_t slice, int column) const;
  std::vector<std::uint32_t> sorted() const;

  const Timeline* timeline_;
  const analysis::Summary* summary_;
  std::unordered_map<std::uint32_t, ExposureBlame> blames_;  ///< of the slices, with a summary
  std::vector<std::uint32_t> slices_;                        ///< in the order of the rows
  std::vector<std::uint32_t> as_set_;                        ///< in theirs, where that is another
  int sorted_by_ = -1;
  Qt::SortOrder sort_order_ = Qt::AscendingOrder;
};

}  // namespace underlap::viewer
