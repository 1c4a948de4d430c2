// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>

#include "viewer/lanes/palette.hpp"
#include "viewer/lanes/surface.hpp"
#include "viewer/timeline/pieces.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

struct LaneContext;

/// The columns of a row while it is drawn; used again for the next one.
class RowPicture {
 public:
  void begin(int width, QRgb background);
  /// Draws pieces over what is there, in a row of so many pixels.
  void add(const std::vector<Piece>& pieces, int height, const LaneContext&);
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
};

/// What every lane is drawn with. Pixels are those of the surface; `scale` of them are one of a plain screen.
struct LaneContext {
  Surface& surface;
  const Timeline& timeline;
  const Palette& palette;
  View view;  ///< its first pixel is at the left of the lane's rectangle
  double scale = 1;
  bool has_text = true;
  std::vector<Piece>& pieces;  ///< room for a row's pieces, used again and again
  RowPicture& row;             ///< likewise for its columns
};

/// How high a lane is, in pixels of a plain screen; collapsed it is one low row.
int height_of(const Lane&, bool is_collapsed);
int height_of_row(LaneKind, bool is_collapsed);

/// Draws a lane: one file for each kind.
void paint_strip(const Lane&, const QRect& where, const LaneContext&);
void paint_stream(const Lane&, const QRect& where, bool is_collapsed, const LaneContext&);
void paint_nested(const Lane&, const QRect& where, bool is_collapsed, const LaneContext&);
void paint_counter(const Lane&, const QRect& where, const LaneContext&);
void paint_lane(const Lane&, const QRect& where, bool is_collapsed, const LaneContext&);

/// Draws the pieces of the context as a row over a background: what is exposed over everything else, and never less
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
