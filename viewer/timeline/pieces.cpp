// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace underlap::viewer {
namespace {

// A moment of a picture may be outside the range of any clock.
std::int64_t whole_ns(double ns) {
  constexpr double kFarthest = 9e18;
  return static_cast<std::int64_t>(std::clamp(ns, -kFarthest, kFarthest));
}

Piece wide_piece(const Segments& segments, std::size_t i, const View& view) {
  Piece piece;
  piece.left = static_cast<float>(std::max(view.x_of(static_cast<double>(segments.begin_ns(i))), 0.0));
  piece.right = static_cast<float>(std::min(view.x_of(static_cast<double>(segments.end_ns(i))), view.width * 1.0));
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
    const double pixel = std::max(std::floor(view.x_of(static_cast<double>(segments.begin_ns(i)))), 0.0);
    std::size_t next = segments.first_beginning_at(whole_ns(std::ceil(view.time_of(pixel + 1))), i);
    // Of those that begin in one pixel only the last can be wider than it.
    if (next > i + 1 && is_wide(segments, next - 1, view)) --next;
    next = std::max(next, i + 1);
    pieces.push_back(pixel_piece(segments.content(i, next), pixel, view));
    i = next;
  }
}

}  // namespace underlap::viewer
