// SPDX-License-Identifier: Apache-2.0
#include "viewer/theme/theme.hpp"

#include <cmath>
#include <vector>

#include "profiler/trace/mode_colors.hpp"

namespace underlap::viewer {
namespace {

QColor of_mode(Mode mode, bool is_dark) {
  const ModeColor& color = kModeColors[static_cast<std::size_t>(mode)];
  return QColor(QRgb(is_dark ? color.dark : color.light));
}

Mode mode_of(std::string_view name) {
  return mode_from(name.substr(0, name.find('+'))).value_or(Mode::none);  // "unattributed" is no mode
}

int between(int over, int under, double share) {
  return static_cast<int>(std::lround(share * over + (1 - share) * under));
}

}  // namespace

const Theme& Theme::light() {
  static const Theme theme{.background = QColor(0xff, 0xff, 0xff),
                           .surface = QColor(0xf4, 0xf5, 0xf7),
                           .grid = QColor(0xdf, 0xe2, 0xe6),
                           .text = QColor(0x1d, 0x21, 0x26),
                           .dim_text = QColor(0x5c, 0x65, 0x70),
                           .compute = QColor(0xb9, 0xc0, 0xc9),
                           .copy = QColor(0x8d, 0x9b, 0x8a),
                           .range = QColor(0xd5, 0xde, 0xe8),
                           .wait = QColor(0xe9, 0xe4, 0xd8),
                           .idle = QColor(0xec, 0xee, 0xf1),
                           .accent = QColor(0x1a, 0x5f, 0xd0),
                           .worse = QColor(0xb0, 0x3a, 0x00),
                           .better = QColor(0x00, 0x6b, 0x54)};
  return theme;
}

const Theme& Theme::dark() {
  static const Theme theme{.is_dark = true,
                           .background = QColor(0x17, 0x19, 0x1d),
                           .surface = QColor(0x20, 0x23, 0x28),
                           .grid = QColor(0x33, 0x38, 0x3f),
                           .text = QColor(0xe6, 0xe8, 0xeb),
                           .dim_text = QColor(0x9a, 0xa3, 0xad),
                           .compute = QColor(0x56, 0x5e, 0x69),
                           .copy = QColor(0x6d, 0x7c, 0x6a),
                           .range = QColor(0x35, 0x41, 0x50),
                           .wait = QColor(0x48, 0x43, 0x36),
                           .idle = QColor(0x24, 0x28, 0x2d),
                           .accent = QColor(0x6a, 0xa5, 0xff),
                           .worse = QColor(0xff, 0x9d, 0x66),
                           .better = QColor(0x4f, 0xd1, 0xae)};
  return theme;
}

QColor Theme::exposed(Mode mode) const { return of_mode(mode, is_dark); }

QColor Theme::hidden(Mode mode) const { return mixed(exposed(mode), background, is_dark ? 0.42 : 0.38); }

QColor Theme::exposed(std::string_view mode) const { return exposed(mode_of(mode)); }

QColor Theme::hidden(std::string_view mode) const { return hidden(mode_of(mode)); }

QColor Theme::series(std::size_t index) const {
  std::vector<QColor> colors{accent};
  for (const Mode mode : kModesOfSeries) colors.push_back(exposed(mode));
  colors.push_back(dim_text);
  static_assert(kSeriesColors == kModesOfSeries.size() + 2);
  return colors.at(index % colors.size());
}

QColor mixed(const QColor& over, const QColor& under, double share) {
  return {between(over.red(), under.red(), share), between(over.green(), under.green(), share),
          between(over.blue(), under.blue(), share)};
}

}  // namespace underlap::viewer
