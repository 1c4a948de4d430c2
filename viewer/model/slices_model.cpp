// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/slices_model.hpp"

#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {
namespace {

constexpr std::array kTitles{"name", "rank", "lane", "begin", "duration", "exposed"};

// What rows are sorted by: a number or a name. What is no communication has -1 ns exposed.
std::pair<std::int64_t, std::string_view> key_of(const Timeline& timeline, std::uint32_t slice, int column) {
  const Trace& trace = timeline.trace();
  const NameId purpose = trace.tag(slice).purpose;
  switch (column) {
    case 0: return {0, name_of(purpose == kNoName ? trace.name(slice) : purpose)};
    case 1: return {trace.track_of(slice).rank, {}};
    case 2: return {0, trace.track_of(slice).name};
    case 3: return {timeline.begin_ns(slice), {}};
    case 4: return {trace.duration_ns()[slice], {}};
    default: break;
  }
  const ExposedSlice* exposed = timeline.exposed_of(slice);
  if (exposed != nullptr) return {exposed->exposed_ns(), {}};
  return {trace.tag(slice).kind == Kind::communication ? 0 : -1, {}};
}

QString value_of(const Timeline& timeline, std::uint32_t slice, int column) {
  const auto [number, name] = key_of(timeline, slice, column);
  if (column == 0 || column == 2) return QString::fromUtf8(name);
  if (column == 1) return QString::number(number);
  if (column == 5 && number <= 0) return number == 0 ? "0" : "";
  return QString::fromStdString(time_text(number));
}

}  // namespace

void SlicesModel::set_slices(std::vector<std::uint32_t> slices) {
  beginResetModel();
  slices_ = std::move(slices);
  as_set_ = is_sortable() ? slices_ : std::vector<std::uint32_t>();
  if (sorted_by_ >= 0 && is_sortable()) slices_ = sorted();
  endResetModel();
}

std::vector<std::uint32_t> SlicesModel::sorted() const {
  using Key = std::pair<std::int64_t, std::string_view>;
  std::vector<std::pair<Key, std::uint32_t>> keys;
  keys.reserve(as_set_.size());
  for (const std::uint32_t slice : as_set_) keys.emplace_back(key_of(*timeline_, slice, sorted_by_), slice);
  std::ranges::stable_sort(keys, [is_ascending = sort_order_ == Qt::AscendingOrder](const auto& a, const auto& b) {
    return is_ascending ? a.first < b.first : b.first < a.first;
  });
  std::vector<std::uint32_t> all;
  all.reserve(keys.size());
  for (const auto& [key, slice] : keys) all.push_back(slice);
  return all;
}

void SlicesModel::sort(int column, Qt::SortOrder order) {
  sorted_by_ = column < columnCount() ? column : -1;
  sort_order_ = order;
  if (!is_sortable()) return;
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  const QModelIndexList before = persistentIndexList();
  std::vector<std::uint32_t> selected;
  for (const QModelIndex& index : before) selected.push_back(slices_[static_cast<std::size_t>(index.row())]);
  slices_ = sorted_by_ < 0 ? as_set_ : sorted();
  for (qsizetype i = 0; i < before.size(); ++i) {
    const auto now = std::ranges::find(slices_, selected[static_cast<std::size_t>(i)]);
    changePersistentIndex(before[i], index(static_cast<int>(now - slices_.begin()), before[i].column()));
  }
  emit layoutChanged({}, VerticalSortHint);
}

int SlicesModel::rowCount(const QModelIndex& parent) const {
  constexpr std::size_t kMost = std::numeric_limits<int>::max() / 64;  // views count pixels in ints
  return parent.isValid() ? 0 : static_cast<int>(std::min(slices_.size(), kMost));
}

int SlicesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kTitles.size());
}

QVariant SlicesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  const std::uint32_t slice = slices_[static_cast<std::size_t>(index.row())];
  if (role == kSlice) return slice;
  if (role == Qt::TextAlignmentRole && index.column() > 2) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  return role == Qt::DisplayRole || role == Qt::ToolTipRole ? QVariant(value_of(*timeline_, slice, index.column()))
                                                            : QVariant();
}

QVariant SlicesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= columnCount()) return {};
  return kTitles[static_cast<std::size_t>(section)];
}

}  // namespace underlap::viewer
