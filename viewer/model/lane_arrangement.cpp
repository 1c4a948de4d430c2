// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/lane_arrangement.hpp"

#include <QJsonArray>
#include <set>

namespace underlap::viewer {
namespace {

bool is_of_host(LaneKind kind) { return kind == LaneKind::thread || kind == LaneKind::range; }

bool has_content(const Lane& lane) {
  return lane.values.size() > 0 ||
         std::ranges::any_of(lane.rows, [](const LaneRow& row) { return row.segments.size() > 0; });
}

// A rank that has only lanes of the host keeps its strip, which collapses them.
std::vector<ArrangedLane> first_arrangement(const Timeline& timeline) {
  std::set<std::int32_t> ranks;
  for (const Lane& lane : timeline.lanes())
    if (has_content(lane)) ranks.insert(lane.rank);
  const bool are_ranks_collapsed = ranks.size() >= LaneArrangement::kManyRanks;
  std::vector<ArrangedLane> lanes;
  for (std::size_t i = 0; i < timeline.lanes().size(); ++i) {
    const Lane& lane = timeline.lanes()[i];
    const bool is_strip = lane.kind == LaneKind::strip;
    if (is_strip ? !ranks.contains(lane.rank) : !has_content(lane)) continue;
    lanes.push_back({.lane = i, .is_collapsed = is_strip ? are_ranks_collapsed : is_of_host(lane.kind)});
  }
  return lanes;
}

}  // namespace

LaneArrangement::LaneArrangement(const Timeline& timeline) : timeline_(&timeline), lanes_(first_arrangement(timeline)) {
  fold();
}

int LaneArrangement::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lanes_.size());
}

QVariant LaneArrangement::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  const ArrangedLane& arranged = lanes_[static_cast<std::size_t>(index.row())];
  const Lane& lane = timeline_->lanes()[arranged.lane];
  switch (role) {
    case Qt::DisplayRole:
      return lane.kind == LaneKind::strip ? QString::fromStdString(lane.name)
                                          : QString("rank %1 %2").arg(lane.rank).arg(QString::fromStdString(lane.name));
    case Qt::CheckStateRole: return arranged.is_shown ? Qt::Checked : Qt::Unchecked;
    case kCollapsed: return arranged.is_collapsed;
    case kPinned: return arranged.is_pinned;
    default: return {};
  }
}

bool LaneArrangement::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid))
    return false;
  set_shown(index.row(), value.toInt() == Qt::Checked);
  return true;
}

Qt::ItemFlags LaneArrangement::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::ItemIsDropEnabled;  // between lanes, and on none
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable | Qt::ItemIsDragEnabled |
         Qt::ItemNeverHasChildren;
}

bool LaneArrangement::moveRows(const QModelIndex& from, int row, int count, const QModelIndex& to, int before) {
  if (from.isValid() || to.isValid() || count != 1 || row < 0 || row >= rowCount() || before < 0 || before > rowCount())
    return false;
  const std::size_t lane = lanes_[static_cast<std::size_t>(row)].lane;
  move(row, (before > row ? before - 1 : before) - row);
  return row_of(lane) != row;
}

int LaneArrangement::row_of(std::size_t lane) const {
  const auto found = std::ranges::find(lanes_, lane, &ArrangedLane::lane);
  return found == lanes_.end() ? -1 : static_cast<int>(found - lanes_.begin());
}

void LaneArrangement::set_collapsed(int row, bool is_collapsed) {
  change(row, &ArrangedLane::is_collapsed, is_collapsed, kCollapsed);
}

void LaneArrangement::set_shown(int row, bool is_shown) {
  change(row, &ArrangedLane::is_shown, is_shown, Qt::CheckStateRole);
}

void LaneArrangement::set_pinned(int row, bool is_pinned) {
  if (row < 0 || row >= rowCount() || lanes_[static_cast<std::size_t>(row)].is_pinned == is_pinned) return;
  const int pinned = num_pinned();
  const std::size_t lane = lanes_[static_cast<std::size_t>(row)].lane;
  change(row, &ArrangedLane::is_pinned, is_pinned, kPinned);
  if (is_pinned) return move_row(row, pinned);
  int to = pinned - 1;
  while (to + 1 < rowCount() && lanes_[static_cast<std::size_t>(to + 1)].lane < lane) ++to;
  move_row(row, to);
}

void LaneArrangement::move(int row, int by) {
  const int pinned = num_pinned();
  const bool is_pinned = row < pinned;
  const int first = is_pinned ? 0 : pinned, last = is_pinned ? pinned - 1 : rowCount() - 1;
  if (row < 0 || row >= rowCount()) return;
  move_row(row, std::clamp(row + by, first, last));
}

void LaneArrangement::reveal(int row) {
  set_shown(row, true);
  if (row < 0 || row >= rowCount() || !lanes_[static_cast<std::size_t>(row)].is_folded) return;
  const std::int32_t rank = timeline_->lanes()[lanes_[static_cast<std::size_t>(row)].lane].rank;
  const auto strip = std::ranges::find_if(lanes_, [&](const ArrangedLane& arranged) {
    return is_strip(arranged) && timeline_->lanes()[arranged.lane].rank == rank;
  });
  set_collapsed(static_cast<int>(strip - lanes_.begin()), false);
}

void LaneArrangement::set_ranks_collapsed(bool is_collapsed) {
  beginResetModel();
  for (ArrangedLane& arranged : lanes_)
    if (is_strip(arranged)) arranged.is_collapsed = is_collapsed;
  fold();
  endResetModel();
}

void LaneArrangement::set_host_lanes_collapsed(bool is_collapsed) {
  for (int row = 0; row < rowCount(); ++row)
    if (is_of_host(timeline_->lanes()[lanes_[static_cast<std::size_t>(row)].lane].kind))
      set_collapsed(row, is_collapsed);
}

void LaneArrangement::reset() {
  beginResetModel();
  lanes_ = first_arrangement(*timeline_);
  fold();
  endResetModel();
}

QJsonObject LaneArrangement::state() const {
  QJsonArray lanes;
  for (const ArrangedLane& lane : lanes_)
    lanes.append(QJsonObject{{"lane", key_of(lane.lane)},
                             {"collapsed", lane.is_collapsed},
                             {"pinned", lane.is_pinned},
                             {"shown", lane.is_shown}});
  return {{"lanes", lanes}};
}

void LaneArrangement::restore(const QJsonObject& state) {
  std::vector<ArrangedLane> restored, rest = first_arrangement(*timeline_);
  for (const QJsonValue& value : state["lanes"].toArray()) {
    const QJsonObject object = value.toObject();
    const auto found = std::ranges::find_if(
        rest, [&](const ArrangedLane& lane) { return key_of(lane.lane) == object["lane"].toString(); });
    if (found == rest.end()) continue;
    restored.push_back(
        {found->lane, object["collapsed"].toBool(), object["pinned"].toBool(), object["shown"].toBool(true)});
    rest.erase(found);
  }
  beginResetModel();
  for (const ArrangedLane& lane : rest) {
    const auto before = std::ranges::find_if(restored.rbegin(), restored.rend(), [&](const ArrangedLane& other) {
      return !other.is_pinned && other.lane < lane.lane;
    });
    restored.insert(before.base(), lane);
  }
  std::ranges::stable_partition(restored, &ArrangedLane::is_pinned);
  lanes_ = std::move(restored);
  fold();
  endResetModel();
}

QString LaneArrangement::key_of(std::size_t lane) const {
  const Lane& of = timeline_->lanes()[lane];
  return QString("%1/%2/%3").arg(of.rank).arg(static_cast<int>(of.kind)).arg(QString::fromStdString(of.name));
}

void LaneArrangement::change(int row, bool ArrangedLane::*what, bool value, int role) {
  if (row < 0 || row >= rowCount() || lanes_[static_cast<std::size_t>(row)].*what == value) return;
  ArrangedLane& arranged = lanes_[static_cast<std::size_t>(row)];
  arranged.*what = value;
  if (is_strip(arranged) || what == &ArrangedLane::is_pinned) fold();
  const QModelIndex changed = index(row);
  emit dataChanged(changed, changed, {role});
}

bool LaneArrangement::is_strip(const ArrangedLane& arranged) const {
  return timeline_->lanes()[arranged.lane].kind == LaneKind::strip;
}

void LaneArrangement::fold() {
  std::set<std::int32_t> collapsed;
  for (const ArrangedLane& arranged : lanes_)
    if (is_strip(arranged) && arranged.is_collapsed) collapsed.insert(timeline_->lanes()[arranged.lane].rank);
  for (ArrangedLane& arranged : lanes_)
    arranged.is_folded =
        !is_strip(arranged) && !arranged.is_pinned && collapsed.contains(timeline_->lanes()[arranged.lane].rank);
}

void LaneArrangement::move_row(int from, int to) {
  if (from == to) return;
  beginMoveRows({}, from, from, {}, to > from ? to + 1 : to);
  const auto begin = lanes_.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
  endMoveRows();
}

int LaneArrangement::num_pinned() const {
  return static_cast<int>(std::ranges::count(lanes_, true, &ArrangedLane::is_pinned));
}

}  // namespace underlap::viewer
