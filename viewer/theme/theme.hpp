// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QString>
#include <string_view>

#include "profiler/trace/tag.hpp"

namespace underlap::viewer {

/// Every color that the viewer draws with, so that timeline and charts look alike.
///
/// Compute is gray and hidden communication pale. Exposed communication has the full color of its mode, so that it
/// stands out. The colors of modes are those of Okabe and Ito 2008 (Color Universal Design), which color-blind users
/// can distinguish.
struct Theme {
  bool is_dark = false;
  QColor background;
  QColor surface;  ///< of lane names, rulers and panels
  QColor grid;
  QColor text;
  QColor dim_text;
  QColor compute;
  QColor copy;
  QColor range;   ///< calls and annotations
  QColor wait;    ///< a stream or thread that waits
  QColor idle;    ///< in the exposure strip
  QColor accent;  ///< selection, marks, the cursor
  QColor worse;   ///< of a comparison: longer, more exposed
  QColor better;

  static const Theme& light();
  static const Theme& dark();

  /// The color of exposed communication; Mode::none means unattributed.
  QColor exposed(Mode) const;
  /// Of communication under compute: the same, paler.
  QColor hidden(Mode) const;
  /// By the name that figures use: "dp", "unattributed"; of "dp+tp", modes exposed at once, the first one's.
  QColor exposed(std::string_view mode) const;
  QColor hidden(std::string_view mode) const;

  /// Of the series of a chart that are not modes; beyond the first ones colors repeat.
  static constexpr std::size_t kSeriesColors = 7;
  QColor series(std::size_t index) const;
};

/// `share` of one color over the other, 0 to 1.
QColor mixed(const QColor& over, const QColor& under, double share);

}  // namespace underlap::viewer
