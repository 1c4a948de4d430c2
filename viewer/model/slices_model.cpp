// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/slices_model.hpp"

namespace underlap::viewer {
namespace {

enum Column { kName, kRank, kLane, kBegin, kDuration, kExposed, kWait, kTransfer, kLateRank, kCause };
constexpr std::array kTitles{"name",    "rank", "lane",     "start",     "duration",
                             "exposed", "wait", "transfer", "late rank", "cause"};

}  // namespace

// A number that is not known, or of no communication, is -1.
SlicesModel::Key SlicesModel::key_of(std::uint32_t slice, int column) const {
  const Trace& trace = timeline_->trace();
  const NameId purpose = trace.tag(slice).purpose;
  const auto blame = blames_.find(slice);
  switch (column) {
    case kName: return {0, name_of(purpose == kNoName ? trace.name(slice) : purpose)};
    case kRank: return {trace.track_of(slice).rank, {}};
    case kLane: return {0, trace.track_of(slice).name};
    case kBegin: return {timeline_->begin_ns(slice), {}};
    case kDuration: return {trace.duration_ns()[slice], {}};
    case kLateRank: return {blame == blames_.end() ? -1 : blame->second.late_rank, {}};
    case kCause: return {0, blame == blames_.end() ? std::string_view() : blame->second.cause};
    default: break;
  }
  const ExposedSlice* exposed = timeline_->exposed_of(slice);
  if (exposed == nullptr) return {trace.tag(slice).kind == Kind::communication ? 0 : -1, {}};
  if (column == kExposed) return {exposed->exposed_ns(), {}};
  if (!analysis::is_split(exposed->unsplit_ns, exposed->exposed_ns())) return {-1, {}};
  return {column == kWait ? exposed->wait_ns : exposed->transfer_ns, {}};
}

QString SlicesModel::value_of(std::uint32_t slice, int column) const {
  const auto [number, name] = key_of(slice, column);
  if (column == kName || column == kLane || column == kCause) return QString::fromUtf8(name);
  if (column == kRank) return QString::number(number);
  if (column == kLateRank) return number < 0 ? QString() : QString::number(number);
  if (column >= kExposed && number <= 0) return number == 0 ? "0" : "";
  return QString::fromStdString(time_text(number));
}

void SlicesModel::set_slices(std::vector<std::uint32_t> slices) {
  beginResetModel();
  slices_ = std::move(slices);
  as_set_ = is_sortable() ? slices_ : std::vector<std::uint32_t>();
  blames_.clear();
  if (summary_ != nullptr) {
    std::vector<ExposureBlame> blames = blames_of(*summary_, slices_);
    for (std::size_t i = 0; i < slices_.size(); ++i) blames_[slices_[i]] = std::move(blames[i]);
  }
  if (sorted_by_ >= 0 && is_sortable()) slices_ = sorted();
  endResetModel();
}

std::vector<std::uint32_t> SlicesModel::sorted() const {
  std::vector<std::pair<Key, std::uint32_t>> keys;
  keys.reserve(as_set_.size());
  for (const std::uint32_t slice : as_set_) keys.emplace_back(key_of(slice, sorted_by_), slice);
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
  if (parent.isValid()) return 0;
  return summary_ == nullptr ? kExposed + 1 : static_cast<int>(kTitles.size());
}

QVariant SlicesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
    return {};
  const std::uint32_t slice = slices_[static_cast<std::size_t>(index.row())];
  if (role == kSlice) return slice;
  const bool is_number = index.column() == kRank || (index.column() > kLane && index.column() != kCause);
  if (role == Qt::TextAlignmentRole && is_number) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  return role == Qt::DisplayRole || role == Qt::ToolTipRole ? QVariant(value_of(slice, index.column())) : QVariant();
}

QVariant SlicesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= columnCount()) return {};
  return kTitles[static_cast<std::size_t>(section)];
}

}  // namespace underlap::viewer
