// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/slices_model.hpp"

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {
namespace {

constexpr std::array kTitles{"name", "rank", "lane", "begin", "duration", "exposed"};

QString text(std::string_view view) { return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size())); }

QString value_of(const Timeline& timeline, std::uint32_t slice, int column) {
  const Trace& trace = timeline.trace();
  const Tag& tag = trace.tag(slice);
  switch (column) {
    case 0: return text(name_of(tag.purpose == kNoName ? trace.name(slice) : tag.purpose));
    case 1: return QString::number(trace.track_of(slice).rank);
    case 2: return text(trace.track_of(slice).name);
    case 3: return QString::fromStdString(time_text(timeline.begin_ns(slice)));
    case 4: return QString::fromStdString(time_text(trace.duration_ns()[slice]));
    default: break;
  }
  const ExposedSlice* exposed = timeline.exposed_of(slice);
  if (exposed != nullptr) return QString::fromStdString(time_text(exposed->exposed_ns()));
  return tag.kind == Kind::communication ? QString("0") : QString();
}

}  // namespace

void SlicesModel::set_slices(std::vector<std::uint32_t> slices) {
  beginResetModel();
  slices_ = std::move(slices);
  endResetModel();
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
