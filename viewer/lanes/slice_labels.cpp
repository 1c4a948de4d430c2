// SPDX-License-Identifier: Apache-2.0
#include "viewer/lanes/slice_labels.hpp"

#include <QHash>
#include <algorithm>
#include <cmath>
#include <string_view>

namespace underlap::viewer {
namespace {

constexpr double kNarrowest = 34;  // pixels of a slice that gets a label
constexpr int kLeastRowHeight = 11;

Shade shade_of(const Trace& trace, std::uint32_t slice, const Timeline& timeline) {
  const Tag& tag = trace.tag(slice);
  if (tag.kind == Kind::compute) return {Paint::compute, 0};
  if (tag.kind == Kind::copy) return {Paint::copy, 0};
  if (tag.kind == Kind::none) return {Paint::range, 0};
  const ExposedSlice* exposed = timeline.exposed_of(slice);
  const bool is_mostly_exposed = exposed != nullptr && 2 * exposed->exposed_ns() > trace.duration_ns()[slice];
  return {is_mostly_exposed ? Paint::exposed_transfer : Paint::hidden, bit_of(tag.mode)};
}

}  // namespace

void write_labels(const LaneRow& row, const QRect& where, const LaneContext& context) {
  if (where.height() < kLeastRowHeight * context.scale) return;
  const Timeline& timeline = context.timeline;
  const Trace& trace = timeline.trace();
  const double narrowest_ns = kNarrowest * context.scale * context.view.ns_per_pixel;
  // Of segments only wide ones are looked at: there are no more of them than pixels.
  for (const Piece& piece : context.pieces) {
    if (piece.right - piece.left < kNarrowest * context.scale / 2) continue;
    const auto begin_ns = static_cast<std::int64_t>(std::ceil(context.view.time_of(piece.left)));
    const std::uint32_t slice = timeline.slice_at(row, begin_ns);
    if (slice == Timeline::kNoSlice) continue;
    // The label stands at the first piece that is seen of its slice.
    const double left = std::max(context.view.x_of(static_cast<double>(timeline.begin_ns(slice))), 0.0);
    if (std::abs(left - piece.left) > 1.5) continue;
    const double right = std::min(context.view.x_of(static_cast<double>(timeline.end_ns(slice))), 1.0 * where.width());
    if ((right - left) * context.view.ns_per_pixel < narrowest_ns) continue;
    const NameId name = trace.tag(slice).purpose == kNoName ? trace.name(slice) : trace.tag(slice).purpose;
    const int inset = static_cast<int>(std::lround(3 * context.scale));
    context.surface.write({.where = {where.left() + static_cast<int>(left) + inset, where.top(),
                                     static_cast<int>(right - left) - 2 * inset, where.height()},
                           .text = label_of(name),
                           .colour = context.palette.text_on(shade_of(trace, slice, timeline))});
  }
}

QString label_of(NameId name) {
  // Names live as long as the process, and so do their labels.
  static thread_local QHash<std::uint32_t, QString> labels;
  const auto id = static_cast<std::uint32_t>(name);
  if (const auto found = labels.constFind(id); found != labels.constEnd()) return *found;
  std::string_view text = name_of(name);
  if (text.starts_with("void ")) text.remove_prefix(5);
  const std::size_t end = text.find_first_of("<(");
  if (end != std::string_view::npos && end > 0) text = text.substr(0, end);
  return *labels.insert(id, QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
}

}  // namespace underlap::viewer
