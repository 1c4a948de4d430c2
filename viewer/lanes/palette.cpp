// SPDX-License-Identifier: Apache-2.0
#include "viewer/lanes/palette.hpp"

#include <algorithm>
#include <cmath>

namespace underlap::viewer {
namespace {

std::size_t index_of(Mode mode) { return static_cast<std::size_t>(mode); }

double brightness(QRgb color) { return 0.299 * qRed(color) + 0.587 * qGreen(color) + 0.114 * qBlue(color); }

}  // namespace

Palette::Palette(const Theme& theme) : theme_(&theme), background_(theme.background.rgb()) {
  of_paint_.fill(background_);
  const auto set = [&](Paint paint, const QColor& color) { of_paint_[static_cast<std::size_t>(paint)] = color.rgb(); };
  set(Paint::range, theme.range);
  set(Paint::wait, theme.wait);
  set(Paint::copy, theme.copy);
  set(Paint::compute, theme.compute);
  for (std::size_t mode = 0; mode < kNumModes; ++mode) {
    hidden_[mode] = theme.hidden(static_cast<Mode>(mode)).rgb();
    exposed_[mode] = theme.exposed(static_cast<Mode>(mode)).rgb();
  }
}

QRgb Palette::color(Shade shade) const {
  if (shade.paint == Paint::hidden) return hidden_[index_of(first_mode(shade.modes))];
  if (is_exposed(shade.paint)) return exposed_[index_of(first_mode(shade.modes))];
  return of_paint_[static_cast<std::size_t>(shade.paint)];
}

Shade Palette::second(Shade shade) {
  const auto others = static_cast<std::uint8_t>(shade.modes & (shade.modes - 1));
  return others == 0 ? shade : Shade{shade.paint, others};
}

QRgb Palette::color(Shade shade, float coverage) const {
  constexpr float kPalest = 0.3F;
  return coverage >= 1 ? color(shade) : mixed_rgb(color(shade), background_, kPalest + (1 - kPalest) * coverage);
}

QRgb Palette::text_on(Shade shade) const {
  return brightness(color(shade)) > 140 ? qRgb(0x1d, 0x21, 0x26) : qRgb(0xff, 0xff, 0xff);
}

QRgb mixed_rgb(QRgb over, QRgb under, float share) {
  const int parts = static_cast<int>(std::lround(256 * std::clamp(share, 0.0F, 1.0F)));
  const auto mix = [&](int a, int b) { return (a * parts + b * (256 - parts)) >> 8; };
  return qRgb(mix(qRed(over), qRed(under)), mix(qGreen(over), qGreen(under)), mix(qBlue(over), qBlue(under)));
}

}  // namespace underlap::viewer
