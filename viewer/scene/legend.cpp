// SPDX-License-Identifier: Apache-2.0
#include "viewer/scene/legend.hpp"

#include <QFontMetrics>
#include <cmath>

#include "viewer/lanes/lane_painters.hpp"

namespace underlap::viewer {
namespace {

struct Sample {
  Column column;
  QString word;
  Column right_half = column;
};

Column plain(QRgb color) { return {.base = color, .upper_base = color}; }

Column exposed(const Palette& palette, Shade shade, int height) {
  const QRgb color = palette.color(shade);
  return {.base = palette.background(),
          .upper_base = palette.background(),
          .exposed = color,
          .upper = color,
          .exposed_height = static_cast<std::uint16_t>(height),
          .texture = texture_of(shade.paint)};
}

// The samples of hidden and exposed communication use the color of the first mode. Then each mode has its own two.
std::vector<Sample> samples_of(const LegendContent& content, const Palette& palette, int height) {
  std::vector<Sample> samples{{plain(palette.color({Paint::compute, 0})), "compute"},
                              {plain(palette.color({Paint::copy, 0})), "copy"}};
  if (content.modes == 0) return samples;
  const std::uint8_t first = bit_of(first_mode(content.modes));
  samples.push_back({plain(palette.color({Paint::hidden, first})), "hidden"});
  samples.push_back({exposed(palette, {Paint::exposed_transfer, first}, height), "exposed"});
  if (content.has_wait)
    samples.push_back({exposed(palette, {Paint::exposed_wait, first}, height), "exposed, waiting for a peer"});
  if (content.has_unsplit)
    samples.push_back({exposed(palette, {Paint::exposed_unsplit, first}, height), "exposed, wait or transfer"});
  for (unsigned mode = 0; mode <= static_cast<unsigned>(Mode::other); ++mode)
    if (const auto bit = static_cast<std::uint8_t>(content.modes & (1U << mode)); bit != 0)
      samples.push_back({plain(palette.color({Paint::hidden, bit})), QString::fromStdString(modes_text(bit)),
                         exposed(palette, {Paint::exposed_transfer, bit}, height)});
  return samples;
}

}  // namespace

LegendContent legend_of(const Timeline& timeline) {
  LegendContent shown;
  for (const ExposedSlice& slice : timeline.exposed()) {
    shown.has_wait |= slice.wait_ns > 0;
    shown.has_unsplit |= slice.unsplit_ns > 0;
  }
  for (const Lane& lane : timeline.lanes()) {
    if (lane.kind != LaneKind::strip) continue;
    for (const LaneRow& row : lane.rows) {
      const Content content = row.segments.content(0, row.segments.size());
      shown.modes |= content.hidden_modes | content.exposed_modes;
    }
  }
  return shown;
}

void paint_legend(Surface& surface, const QRect& where, const LegendContent& content, const Palette& palette,
                  double scale, const QFont& font) {
  const Theme& theme = palette.theme();
  surface.fill(where, theme.surface.rgb());
  const QFontMetrics metrics(font);
  const auto pixels = [&](int plain) { return static_cast<int>(std::lround(plain * scale)); };
  const int width = pixels(16), height = where.height() - 2 * pixels(5), gap = pixels(5);
  int left = where.left() + pixels(8);
  for (const Sample& sample : samples_of(content, palette, height)) {
    const int text = metrics.horizontalAdvance(sample.word) + 1;
    if (left + width + gap + text > where.right()) return;
    std::vector<Column> columns(static_cast<std::size_t>(width), sample.column);
    std::fill(columns.begin() + width / 2, columns.end(), sample.right_half);
    surface.draw_columns({left, where.top() + pixels(5), width, height}, columns);
    surface.write({{left + width + gap, where.top(), text, where.height()}, sample.word, theme.text.rgb()});
    left += width + gap + text + pixels(14);
  }
}

}  // namespace underlap::viewer
