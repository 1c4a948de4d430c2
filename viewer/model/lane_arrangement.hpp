// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractListModel>
#include <QJsonObject>

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// How one lane is shown.
struct ArrangedLane {
  std::size_t lane = 0;       ///< index into Timeline::lanes()
  bool is_collapsed = false;  ///< of a strip: all lanes of its rank are folded into it
  bool is_pinned = false;     ///< stays at the top while others scroll
  bool is_shown = true;
  bool is_folded = false;  ///< into the strip of its rank; pinned lanes are not folded

  bool is_visible() const { return is_shown && !is_folded; }
};

/// The lanes of a timeline in the order in which a person wants them: pinned ones first, then those of each rank. Lanes
/// without content are left out. With kManyRanks ranks or more, each rank starts collapsed to its strip.
///
/// A row a lane, in the order of the picture; column 0 is its name. Knows nothing of painting.
class LaneArrangement : public QAbstractListModel {
  Q_OBJECT

 public:
  static constexpr std::size_t kManyRanks = 8;
  enum Role { kCollapsed = Qt::UserRole, kPinned };

  explicit LaneArrangement(const Timeline& timeline);

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  Qt::DropActions supportedDropActions() const override { return Qt::MoveAction; }
  /// One lane, as far as move() does.
  bool moveRows(const QModelIndex& from, int row, int count, const QModelIndex& to, int before) override;

  const std::vector<ArrangedLane>& lanes() const { return lanes_; }
  int row_of(std::size_t lane) const;
  void set_collapsed(int row, bool is_collapsed);
  /// A pinned lane moves after the already pinned lanes; one that is no longer pinned returns to its rank.
  void set_pinned(int row, bool is_pinned);
  void set_shown(int row, bool is_shown);
  /// Makes a lane visible: shows it and expands its rank.
  void reveal(int row);
  /// Moves a lane one place up or down among those that are pinned, or not, as it is.
  void move(int row, int by);
  /// Collapses, or opens, all lanes of calls and ranges.
  void set_host_lanes_collapsed(bool is_collapsed);
  /// Collapses all ranks to their strips, or expands them.
  void set_ranks_collapsed(bool is_collapsed);
  /// Shows all, in the order of the timeline: calls and ranges collapsed, nothing pinned.
  void reset();

  /// Whether it differs from a new one.
  bool is_changed() const { return state() != LaneArrangement(*timeline_).state(); }
  /// What a person changed, by the names of lanes, and back: lanes that are no longer there are passed over.
  QJsonObject state() const;
  void restore(const QJsonObject& state);

 private:
  QString key_of(std::size_t lane) const;
  void change(int row, bool ArrangedLane::*what, bool value, int role);
  void move_row(int from, int to);
  bool is_strip(const ArrangedLane& arranged) const;
  void fold();  ///< after a strip was collapsed or expanded, or a lane pinned or unpinned
  int num_pinned() const;

  const Timeline* timeline_;
  std::vector<ArrangedLane> lanes_;
};

}  // namespace underlap::viewer
