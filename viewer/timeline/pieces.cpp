// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/pieces.hpp"

#include <cmath>

namespace underlap::viewer {
namespace {

// A moment of a picture may be outside the range of any clock.
std::int64_t whole_ns(double ns) {
  constexpr double kFarthest = 9e18;
  return static_cast<std::int64_t>(std::clamp(ns, -kFarthest, kFarthest));
}

Piece wide_piece(const Segments& segments, std::size_t i, const View& view) {
  Piece piece;
  piece.left = static_cast<float>(std::max(view.x_of(segments.begin_ns(i)), 0.0));
  piece.right = static_cast<float>(std::min(view.x_of(segments.end_ns(i)), view.width * 1.0));
  const Shade shade = segments.shade(i);
  if (segments.is_divided(i)) piece.segment = static_cast<std::uint32_t>(i);
  if (is_exposed(shade.paint)) {
    piece.exposed = shade;
    piece.exposed_share = 1;
    piece.coverage = 0;
  } else {
    piece.base = shade;
  }
  return piece;
}

Piece pixel_piece(const Content& content, double pixel, const View& view) {
  Piece piece;
  piece.left = static_cast<float>(pixel);
  piece.right = static_cast<float>(pixel + 1);
  const float most = std::max({content.other_ns, content.compute_ns, content.hidden_ns});
  if (most > 0) {
    if (most == content.compute_ns)
      piece.base = {Paint::compute, 0};
    else
      piece.base = most == content.hidden_ns ? Shade{Paint::hidden, content.hidden_modes} : Shade{content.other, 0};
  }
  const auto pixel_ns = static_cast<float>(view.ns_per_pixel);
  piece.coverage = std::min(1.0F, (content.other_ns + content.compute_ns + content.hidden_ns) / pixel_ns);
  if (content.exposed_ns > 0) {
    piece.exposed = {content.exposed, content.exposed_modes};
    piece.exposed_share = std::min(1.0F, content.exposed_ns / pixel_ns);
  }
  return piece;
}

bool is_wide(const Segments& segments, std::size_t i, const View& view) {
  return static_cast<double>(segments.end_ns(i) - segments.begin_ns(i)) >= view.ns_per_pixel;
}

// Where the last member of a communication came, in pixels; nothing where that is not known.
std::optional<float> arrival_x(const Timeline& timeline, std::uint32_t slice, const View& view) {
  const CommunicationRecord* record = timeline.trace().communication(slice);
  if (record == nullptr || record->last_arrival_ns == -1) return std::nullopt;
  const std::int32_t rank = timeline.trace().track_of(slice).rank;
  return static_cast<float>(view.x_of(timeline.time_of(rank, record->last_arrival_ns)));
}

// What is exposed waits until the last member comes, and transfers from there.
void add_split(Piece part, std::optional<float> arrival, std::vector<Piece>& pieces) {
  if (part.exposed_share <= 0) return pieces.push_back(part);
  if (!arrival) {
    part.exposed.paint = Paint::exposed_unsplit;
    return pieces.push_back(part);
  }
  const bool is_cut = *arrival > part.left && *arrival < part.right;
  part.exposed.paint = part.left < *arrival ? Paint::exposed_wait : Paint::exposed_transfer;
  if (!is_cut || part.exposed_share < 1) return pieces.push_back(part);
  Piece after = part;
  part.right = after.left = *arrival;
  after.exposed.paint = Paint::exposed_transfer;
  pieces.push_back(part);
  pieces.push_back(after);
}

// A row keeps a communication whole. Its rank's strip shows where compute runs at the same time:
//   row    |     [ all_gather             ]   |
//   strip  |####====####====!!!!!!!!====!!!###|
//   drawn  |     [==  ======!!!!!!!!====!!]   |
void divide(const Piece& whole, const Segments& strip, const Segments& row, const View& view,
            std::optional<float> arrival, std::vector<Piece>& pieces) {
  std::vector<Piece> parts;
  const std::uint8_t modes = row.shade(whole.segment).modes;
  // Counted from the left end of what is seen of it, which is seldom the edge of a pixel.
  const double seen_from = std::max(static_cast<double>(row.begin_ns(whole.segment)), view.begin_ns);
  const auto left = static_cast<float>(view.x_of(seen_from));
  find_pieces(strip, {seen_from, view.ns_per_pixel, static_cast<int>(std::ceil(whole.right - left))}, parts);
  for (Piece part : parts) {
    part.left += left;
    part.right = std::min(part.right + left, whole.right);
    if (part.left >= part.right) continue;
    if (part.base.paint != Paint::nothing) part.base = {Paint::hidden, modes};
    if (part.exposed_share > 0) part.exposed.modes = modes;
    add_split(part, arrival, pieces);
  }
}

}  // namespace

void find_pieces(const Segments& segments, const View& view, std::vector<Piece>& pieces) {
  pieces.clear();
  const double end_ns = view.end_ns();
  std::size_t i = segments.first_ending_after(whole_ns(std::floor(view.begin_ns)));
  while (i < segments.size() && static_cast<double>(segments.begin_ns(i)) < end_ns) {
    if (is_wide(segments, i, view)) {
      pieces.push_back(wide_piece(segments, i++, view));
      continue;
    }
    const double pixel = std::max(std::floor(view.x_of(segments.begin_ns(i))), 0.0);
    std::size_t next = segments.first_beginning_at(whole_ns(std::ceil(view.time_of(pixel + 1))), i);
    // Of those that begin in one pixel only the last can be wider than it.
    if (next > i + 1 && is_wide(segments, next - 1, view)) --next;
    next = std::max(next, i + 1);
    pieces.push_back(pixel_piece(segments.content(i, next), pixel, view));
    i = next;
  }
}

void find_pieces(const Timeline& timeline, const Lane& lane, const LaneRow& row, const View& view,
                 std::vector<Piece>& pieces) {
  find_pieces(row.segments, view, pieces);
  const auto is_divided = [](const Piece& piece) { return piece.segment != Piece::kNoSegment; };
  if (std::ranges::none_of(pieces, is_divided)) return;
  std::vector<Piece> divided;
  for (const Piece& piece : pieces) {
    if (is_divided(piece)) {
      const std::uint32_t slice = timeline.slice_at(row, row.segments.begin_ns(piece.segment));
      divide(piece, timeline.strip_of(lane.rank), row.segments, view, arrival_x(timeline, slice, view), divided);
    } else {
      divided.push_back(piece);
    }
  }
  pieces.swap(divided);
}

}  // namespace underlap::viewer
