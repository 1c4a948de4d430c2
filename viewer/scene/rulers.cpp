// SPDX-License-Identifier: Apache-2.0
#include "viewer/scene/rulers.hpp"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

namespace underlap::viewer {
namespace {

struct Unit {
  double ns;
  const char* name;
};
constexpr double kLeastApart = 90;  // of ticks, pixels of a plain screen
constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};

// The unit in which a distance of ticks reads best.
const Unit& unit_of(double ns) {
  for (const Unit& unit : kUnits)
    if (ns >= 0.1 * unit.ns) return unit;
  return kUnits.back();
}

double round_distance(double least_ns) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(least_ns, 1.0))));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (factor * power >= least_ns) return factor * power;
  return 10 * power;
}

// The number of decimals of a unit that distinguish values this far apart.
int digits_of(double distance_ns, const Unit& unit) {
  return std::max(0, static_cast<int>(std::ceil(std::log10(unit.ns / distance_ns) - 1e-9)));
}

// As many digits as there is room for: a number that is cut is another number.
QString step_text(const StepSpan& step, const QFontMetrics& metrics, int room) {
  const QString number = QString::number(step.step);
  const double ms = static_cast<double>(step.end_ns - step.begin_ns) / 1e6;
  for (const int digits : {3, 1, 0})
    if (const QString text = QString("step %1  %2 ms").arg(number).arg(ms, 0, 'f', digits);
        metrics.horizontalAdvance(text) <= room)
      return text;
  for (const QString& text : {"step " + number, number})
    if (metrics.horizontalAdvance(text) <= room) return text;
  return {};
}

}  // namespace

std::vector<Tick> ticks_of(const View& view, double least_px) {
  std::vector<Tick> ticks;
  if (view.width <= 0) return ticks;
  const double distance = round_distance(least_px * view.ns_per_pixel);
  const Unit& unit = unit_of(distance);
  const int digits = digits_of(distance, unit);
  const auto first = static_cast<std::int64_t>(std::ceil(view.begin_ns / distance));
  const auto last = static_cast<std::int64_t>(std::floor(view.end_ns() / distance));
  for (std::int64_t i = first; i <= last; ++i) {
    const double time = static_cast<double>(i) * distance;
    ticks.push_back({static_cast<std::int64_t>(std::llround(time)),
                     QString("%1 %2").arg(time / unit.ns, 0, 'f', digits).arg(unit.name)});
  }
  return ticks;
}

QString moment_text(double time_ns, double ns_per_pixel) {
  const Unit& unit = unit_of(round_distance(kLeastApart * ns_per_pixel));
  return QString("%1 %2").arg(time_ns / unit.ns, 0, 'f', digits_of(std::max(ns_per_pixel, 1.0), unit)).arg(unit.name);
}

void paint_time_ruler(Surface& surface, const QRect& where, const View& view, double origin_ns, const Palette& palette,
                      double scale, const QFont& font) {
  const Theme& theme = palette.theme();
  surface.fill(where, theme.surface.rgb());
  const int inset = static_cast<int>(std::lround(4 * scale));
  const QFontMetrics metrics(font);
  View counted = view;
  counted.begin_ns -= origin_ns;
  for (const Tick& tick : ticks_of(counted, kLeastApart * scale)) {
    const int x = where.left() + static_cast<int>(std::lround(counted.x_of(tick.time_ns)));
    surface.fill({x, where.top() + where.height() / 3, std::max(1, static_cast<int>(scale)), where.height()},
                 theme.grid.rgb());
    if (x + inset + metrics.horizontalAdvance(tick.text) > where.left() + where.width()) continue;
    surface.write({{x + inset, where.top(), static_cast<int>(kLeastApart * scale) - inset, where.height()},
                   tick.text,
                   theme.dim_text.rgb()});
  }
}

void paint_step_ruler(Surface& surface, const QRect& where, const View& view, std::span<const StepSpan> steps,
                      const std::vector<TimeRange>& uncounted, const Palette& palette, double scale,
                      const QFont& font) {
  const Theme& theme = palette.theme();
  surface.fill(where, theme.surface.rgb());
  const int inset = static_cast<int>(std::lround(4 * scale));
  const QFontMetrics metrics(font);
  const auto paint = [&](std::int64_t begin_ns, std::int64_t end_ns, QRgb shade, QRgb ink, const auto& text_within) {
    const double left = std::max(view.x_of(begin_ns), 0.0);
    const double right = std::min(view.x_of(end_ns), 1.0 * view.width);
    if (right <= left) return;
    const int x = where.left() + static_cast<int>(std::lround(left));
    const int width = std::max(1, static_cast<int>(std::lround(right - left)));
    surface.fill({x, where.top() + 1, width, where.height() - 2}, shade);
    const int room = width - 2 * inset;
    if (room < inset) return;
    if (const QString text = text_within(room); !text.isEmpty())
      surface.write({{x + inset, where.top(), room, where.height()}, text, ink});
  };
  for (const TimeRange& range : uncounted)
    paint(range.begin_ns, range.end_ns, mixed_rgb(theme.dim_text.rgb(), theme.surface.rgb(), 0.1F),
          theme.dim_text.rgb(), [&](int room) {
            const QString text = "not counted";
            return metrics.horizontalAdvance(text) <= room ? text : QString();
          });
  for (std::size_t i = 0; i < steps.size(); ++i)
    paint(steps[i].begin_ns, steps[i].end_ns,
          mixed_rgb(theme.accent.rgb(), theme.surface.rgb(), i % 2 == 0 ? 0.16F : 0.26F), theme.text.rgb(),
          [&](int room) { return step_text(steps[i], metrics, room); });
}

void paint_step_band(Surface& surface, const QRect& where, const View& view, std::span<const StepSpan> steps,
                     std::span<const StepSpan> in_ruler, const Palette& palette) {
  constexpr std::ptrdiff_t kNarrowest = 3;
  const Theme& theme = palette.theme();
  const auto first = std::ranges::partition_point(
      steps, [&](const StepSpan& step) { return static_cast<double>(step.end_ns) <= view.begin_ns; });
  const auto last = std::ranges::partition_point(
      steps, [&](const StepSpan& step) { return static_cast<double>(step.begin_ns) < view.end_ns(); });
  if ((last - first) * kNarrowest > where.width()) return;
  const auto are_in_one_pixel = [&](std::int64_t a, std::int64_t b) {
    return std::abs(static_cast<double>(a - b)) < view.ns_per_pixel;
  };
  const auto looks_alike = [&](const StepSpan& step) {
    const StepSpan& other = in_ruler[static_cast<std::size_t>(&step - steps.data())];
    return are_in_one_pixel(step.begin_ns, other.begin_ns) && are_in_one_pixel(step.end_ns, other.end_ns);
  };
  if (steps.size() == in_ruler.size() && std::all_of(first, last, looks_alike)) return;
  for (auto step = first; step < last; ++step) {
    const int left = static_cast<int>(std::lround(std::max(view.x_of(step->begin_ns), 0.0)));
    const int right = static_cast<int>(std::lround(std::min(view.x_of(step->end_ns), 1.0 * view.width)));
    surface.fill({where.left() + left, where.top(), std::max(1, right - left), where.height()},
                 mixed_rgb(theme.accent.rgb(), theme.surface.rgb(), (step - steps.begin()) % 2 == 0 ? 0.3F : 0.5F));
  }
}

}  // namespace underlap::viewer
