// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace underlap::page {

// Bars are rows of a table of HTML, each with a small SVG, so names of any length and any number of rows fit. Widths
// are percentages; class names are those of page.css.

/// Milliseconds from `start` to `end` of a picture's width, and the distance of the lines of its grid.
struct Scale {
  double start = 0;
  double end = 1;
  double tick = 1;

  explicit Scale(double largest);
  /// From -largest to largest, for changes.
  static Scale around_zero(double largest);

  double percent(double ms) const;
};

/// A part of a stacked bar: its color, a pattern over it ("" for none), its milliseconds, and a tooltip.
struct BarPart {
  const char* kind = "";
  const char* pattern = "";
  double ms = 0;
  std::string tooltip = {};
};

std::string rect(const char* kind, double left_percent, double width_percent, int top, int height,
                 std::string_view tooltip = "");
/// A line that keeps its width however wide the picture is.
std::string mark(const char* kind, double at_percent, int top, int height, int width);

/// The vertical lines of a row.
std::string grid(const Scale& scale);
/// Parts one after the other from 0, over a grid. A part of 0 takes no room.
std::string stacked(const Scale& scale, std::span<const BarPart> parts);
/// Milliseconds of communication: hidden, and exposed by what it does.
struct CommunicationParts {
  double hidden = 0;
  double waiting = 0;
  double transferring = 0;
  double unsplit = 0;  ///< the last arrival is unknown
};
/// Its bar, and the legend of such bars: an entry for hidden and for each kind that is not 0.
std::string communication_bar(const Scale& scale, const CommunicationParts& parts);
std::string communication_keys(const CommunicationParts& parts);

/// A bar from 0 to `ms`, to the left where it is negative, over a grid.
std::string change_bar(const Scale& scale, double ms);

constexpr int kRowHeight = 22;

/// The line above the rows: what they show, and the numbers of the grid.
std::string axis_row(std::string_view title, const Scale& scale);
/// One row: its label, the drawing, and the same in words.
std::string picture_row(std::string_view label, std::string_view drawing, std::string_view words);
/// The table of such rows.
std::string picture(std::string_view rows);

/// An entry of a legend.
std::string key(std::string_view drawing, std::string_view what);
/// The entry of a part of a stacked bar.
std::string key(const char* kind, const char* pattern, std::string_view what);

/// Decimals that fit figures up to this size.
int digits_for(double largest_ms);

}  // namespace underlap::page
