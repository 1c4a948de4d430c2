// SPDX-License-Identifier: Apache-2.0
#include <QHash>
#include <cmath>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {
namespace {

constexpr double kNarrowest = 34;  // pixels of a slice that gets a label
constexpr double kSliver = 5;      // pixels of a part that letters are read across
constexpr int kLeastRowHeight = 11;

// What the middle of the row shows of a piece.
Shade shade_of(const Piece& piece) { return piece.exposed_share > 0.5F ? piece.exposed : piece.base; }

// A part of a slice on which text has one color.
struct Ground {
  double left = 0;
  double right = 0;
  QRgb text = 0;

  double width() const { return right - left; }
};

// The widest of a slice that is seen up to `right`, from the first of its pieces on that is wide. A sliver ends none.
Ground widest_ground(const std::vector<Piece>& pieces, std::size_t first, double right, const LaneContext& context) {
  Ground widest, ground;
  for (std::size_t i = first; i < pieces.size() && pieces[i].left < right - 0.5; ++i) {
    const QRgb text = context.palette.text_on(shade_of(pieces[i]));
    const bool is_sliver = pieces[i].right - pieces[i].left < kSliver * context.scale;
    if (i == first || (text != ground.text && !is_sliver)) ground = {pieces[i].left, 0, text};
    ground.right = std::min<double>(pieces[i].right, right);
    if (ground.width() > widest.width()) widest = ground;
  }
  return widest;
}

}  // namespace

void write_labels(const LaneRow& row, const QRect& where, const LaneContext& context) {
  if (where.height() < kLeastRowHeight * context.scale) return;
  const Timeline& timeline = context.timeline;
  const Trace& trace = timeline.trace();
  const double narrowest_ns = kNarrowest * context.scale * context.view.ns_per_pixel;
  std::uint32_t labeled = Timeline::kNoSlice;
  // Only wide segments are considered: there are fewer of them than pixels.
  for (std::size_t i = 0; i < context.row.pieces.size(); ++i) {
    const Piece& piece = context.row.pieces[i];
    if (piece.right - piece.left < kNarrowest * context.scale / 2) continue;
    const auto middle_ns = static_cast<std::int64_t>(context.view.time_of((piece.left + piece.right) / 2));
    const std::uint32_t slice = timeline.slice_at(row, middle_ns);
    if (slice == Timeline::kNoSlice || slice == std::exchange(labeled, slice)) continue;
    const double left = std::max(context.view.x_of(timeline.begin_ns(slice)), 0.0);
    const double right = std::min(context.view.x_of(timeline.end_ns(slice)), 1.0 * where.width());
    if ((right - left) * context.view.ns_per_pixel < narrowest_ns) continue;
    const NameId name = trace.tag(slice).purpose == kNoName ? trace.name(slice) : trace.tag(slice).purpose;
    const int inset = static_cast<int>(std::lround(3 * context.scale));
    const Ground ground = widest_ground(context.row.pieces, i, right, context);
    context.surface.write({.where = {where.left() + static_cast<int>(ground.left) + inset, where.top(),
                                     static_cast<int>(ground.width()) - 2 * inset, where.height()},
                           .text = label_of(name),
                           .color = ground.text});
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
  return *labels.insert(id, QString::fromUtf8(text));
}

}  // namespace underlap::viewer
