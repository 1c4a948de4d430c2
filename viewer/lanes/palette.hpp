// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRgb>
#include <array>

#include "viewer/theme/theme.hpp"
#include "viewer/timeline/shade.hpp"

namespace underlap::viewer {

/// A theme's colors as lanes look them up, thousands of times a frame.
class Palette {
 public:
  explicit Palette(const Theme&);

  QRgb background() const { return background_; }
  QRgb color(Shade) const;
  /// The same where only a part of a pixel is covered, 0 to 1: paler, and never as pale as nothing.
  QRgb color(Shade, float coverage) const;
  /// Of two modes at once what the second one is drawn in; of one, the same.
  static Shade second(Shade);
  /// Of the text on it.
  QRgb text_on(Shade) const;
  const Theme& theme() const { return *theme_; }

 private:
  const Theme* theme_;
  QRgb background_;
  std::array<QRgb, kNumPaints> of_paint_{};
  std::array<QRgb, kNumModes> hidden_{};
  std::array<QRgb, kNumModes> exposed_{};
};

/// `share` of `over` on `under`, 0 to 1.
QRgb mixed_rgb(QRgb over, QRgb under, float share);

}  // namespace underlap::viewer
