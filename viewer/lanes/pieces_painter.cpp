// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {
namespace {

constexpr float kLeastExposedHeight = 0.4F;  // of the row
constexpr int kLeastWithEdge = 4;            // pixels of a slice that shows where it ends

struct Pixels {
  int from = 0;
  int to = 0;  // one past the last
};

// At least one pixel, even if rounding gives none.
Pixels pixels_of(const Piece& piece, int width) {
  const int left = std::clamp(static_cast<int>(std::floor(piece.left + 0.5F)), 0, width - 1);
  return {left, std::clamp(static_cast<int>(std::floor(piece.right + 0.5F)), left + 1, width)};
}

void draw_base(const Piece& piece, std::vector<Column>& columns, const LaneContext& context) {
  const Pixels pixels = pixels_of(piece, static_cast<int>(columns.size()));
  const Shade second = context.palette.second(piece.base);
  const QRgb lower = context.palette.color(piece.base, piece.coverage),
             upper = context.palette.color(second, piece.coverage);
  for (int x = pixels.from; x < pixels.to; ++x) {
    columns[static_cast<std::size_t>(x)].base = lower;
    columns[static_cast<std::size_t>(x)].upper_base = upper;
  }
  if (pixels.to - pixels.from < kLeastWithEdge * context.scale) return;
  const auto edge = [&](Shade of) { return mixed_rgb(context.palette.color(of), context.palette.background(), 0.55F); };
  columns[static_cast<std::size_t>(pixels.to - 1)].base = edge(piece.base);
  columns[static_cast<std::size_t>(pixels.to - 1)].upper_base = edge(second);
}

void draw_exposed(const Piece& piece, std::vector<Column>& columns, int height, const LaneContext& context) {
  const Pixels pixels = pixels_of(piece, static_cast<int>(columns.size()));
  const float share = piece.exposed_share < 1 ? std::max(piece.exposed_share, kLeastExposedHeight) : 1;
  const auto pixels_high = static_cast<std::uint16_t>(std::max(1L, std::lround(share * static_cast<float>(height))));
  const QRgb color = context.palette.color(piece.exposed),
             second = context.palette.color(context.palette.second(piece.exposed));
  for (int x = pixels.from; x < pixels.to; ++x) {
    Column& column = columns[static_cast<std::size_t>(x)];
    column.exposed = color;
    column.upper = second;
    column.exposed_height = std::max(column.exposed_height, pixels_high);
    column.texture = texture_of(piece.exposed.paint);
  }
}

}  // namespace

Texture texture_of(Paint paint) {
  if (paint == Paint::exposed_wait) return Texture::hatched;
  return paint == Paint::exposed_unsplit ? Texture::dotted : Texture::plain;
}

void RowPicture::begin(int width, QRgb background) {
  columns.assign(static_cast<std::size_t>(std::max(width, 0)), Column{.base = background, .upper_base = background});
}

void RowPicture::add_pieces(int height, const LaneContext& context) {
  if (columns.empty()) return;
  for (const Piece& piece : pieces)
    if (piece.base.paint != Paint::nothing) draw_base(piece, columns, context);
  for (const Piece& piece : pieces)
    if (piece.exposed_share > 0) draw_exposed(piece, columns, height, context);
}

void paint_pieces(const QRect& where, QRgb background, const LaneContext& context) {
  context.row.begin(where.width(), background);
  context.row.add_pieces(where.height(), context);
  context.surface.draw_columns(where, context.row.columns);
}

}  // namespace underlap::viewer
