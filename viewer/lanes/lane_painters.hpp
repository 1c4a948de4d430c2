// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>

#include "viewer/lanes/palette.hpp"
#include "viewer/lanes/surface.hpp"
#include "viewer/timeline/pieces.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

struct LaneContext;

/// A row while it is drawn; its memory is used again for the next one.
struct RowPicture {
  std::vector<Piece> pieces;
  std::vector<Column> columns;

  void begin(int width, QRgb background);
  /// Draws the pieces over what is there, in a row of so many pixels.
  void add_pieces(int height, const LaneContext&);
};

/// What every lane is drawn with. Pixels are those of the surface; `scale` of them are one of a plain screen.
struct LaneContext {
  Surface& surface;
  const Timeline& timeline;
  const Palette& palette;
  View view;  ///< its first pixel is at the left of the lane's rectangle
  double scale = 1;
  bool has_text = true;
  RowPicture& row;
};

/// How high a lane is, in pixels of a plain screen; collapsed it is one low row.
int height_of(const Lane&, bool is_collapsed);
int height_of_row(LaneKind, bool is_collapsed);

/// Draws a lane: one file for each kind.
void paint_strip(const Lane&, const QRect& where, const LaneContext&);
void paint_stream(const Lane&, const QRect& where, bool is_collapsed, const LaneContext&);
void paint_nested(const Lane&, const QRect& where, bool is_collapsed, const LaneContext&);
void paint_counter(const Lane&, const QRect& where, const LaneContext&);
/// All rows of a lane below each other, with labels.
void paint_rows(const Lane&, const QRect& where, const LaneContext&);
void paint_lane(const Lane&, const QRect& where, bool is_collapsed, const LaneContext&);

/// Draws the pieces of the context's row over a background: what is exposed over everything else, and never less
/// than a few pixels.
void paint_pieces(const QRect& where, QRgb background, const LaneContext&);

/// Writes a label into every slice of a row that is wide enough for some letters: its purpose, or else its name. The
/// label is in the widest part on whose color it is readable.
void write_labels(const LaneRow&, const QRect& where, const LaneContext&);

/// The texture that distinguishes paints of one color.
Texture texture_of(Paint);

/// The label of a kernel's or range's slice: its name without "void", template arguments and parameters.
QString label_of(NameId);

}  // namespace underlap::viewer
