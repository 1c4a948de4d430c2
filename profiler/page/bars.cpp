// SPDX-License-Identifier: Apache-2.0
#include "profiler/page/bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "platform/text/escape.hpp"

namespace underlap::page {
namespace {

constexpr double kNothing = 1e-9;  ///< milliseconds; a difference of figures may leave less than a nanosecond

std::array<BarPart, 4> parts_of(const CommunicationParts& parts) {
  return {{{"hidden", "", parts.hidden, "hidden under compute"},
           {"exposed", "stripes", parts.waiting, "exposed, waiting"},
           {"exposed", "", parts.transferring, "exposed, transferring"},
           {"exposed", "dots", parts.unsplit, "exposed, last arrival unknown"}}};
}

}  // namespace

Scale::Scale(double largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return;
  end = largest * 1.02;
  tick = std::pow(10, std::floor(std::log10(end)));
  while (end / tick < 3) tick /= 2;
  if (end / tick > 7) tick *= 2;
}

Scale Scale::around_zero(double largest) {
  Scale scale(largest);
  scale.start = -scale.end;
  scale.tick *= 2;
  return scale;
}

double Scale::percent(double ms) const { return std::clamp(100 * (ms - start) / (end - start), 0.0, 100.0); }

std::string rect(const char* kind, double left_percent, double width_percent, int top, int height,
                 std::string_view tooltip) {
  const std::string attributes = fmt::format("class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" y=\"{}\" height=\"{}\"",
                                             kind, left_percent, width_percent, top, height);
  return tooltip.empty() ? fmt::format("<rect {}/>", attributes)
                         : fmt::format("<rect {}><title>{}</title></rect>", attributes, markup_text(tooltip));
}

std::string mark(const char* kind, double at_percent, int top, int height, int width) {
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.3f}%\" width=\"{}\" y=\"{}\" height=\"{}\" "
      "transform=\"translate(-{} 0)\"/>",
      kind, at_percent, width, top, height, width / 2);
}

std::string grid(const Scale& scale) {
  std::string text;
  for (double at = std::ceil(scale.start / scale.tick); at * scale.tick <= scale.end; ++at)
    text += mark("grid", scale.percent(at * scale.tick), 0, kRowHeight, 1);
  return text;
}

std::string stacked(const Scale& scale, std::span<const BarPart> parts) {
  std::string text = grid(scale);
  double from = 0;
  for (const BarPart& part : parts) {
    if (part.ms <= kNothing) continue;
    const double left = scale.percent(from), width = scale.percent(from + part.ms) - left;
    text += rect(part.kind, left, width, 3, 16, part.tooltip);
    if (*part.pattern != '\0') text += rect(part.pattern, left, width, 3, 16, part.tooltip);
    from += part.ms;
  }
  return text;
}

std::string communication_bar(const Scale& scale, const CommunicationParts& parts) {
  return stacked(scale, parts_of(parts));
}

std::string communication_keys(const CommunicationParts& parts) {
  std::string keys;
  for (const BarPart& part : parts_of(parts))
    if (part.ms > kNothing || keys.empty()) keys += key(part.kind, part.pattern, part.tooltip);
  return keys;
}

std::string change_bar(const Scale& scale, double ms) {
  const double zero = scale.percent(0), end = scale.percent(ms);
  return grid(scale) + rect(ms < 0 ? "less" : "more", std::min(zero, end), std::abs(end - zero), 3, 16) +
         mark("step", zero, 0, kRowHeight, 1);
}

std::string axis_row(std::string_view title, const Scale& scale) {
  std::string ticks;
  for (double at = std::ceil(scale.start / scale.tick); at * scale.tick <= scale.end; ++at)
    ticks += fmt::format("<text x=\"{:.3f}%\" y=\"14\" text-anchor=\"{}\">{:g}</text>", scale.percent(at * scale.tick),
                         scale.percent(at * scale.tick) == 0 ? "start" : "middle", at * scale.tick + 0.0);
  return fmt::format(
      "<tr class=\"axis\"><th scope=\"col\">{}</th><td class=\"plot\"><svg height=\"18\" "
      "aria-hidden=\"true\">{}</svg></td><td class=\"words\"></td></tr>\n",
      markup_text(title), ticks);
}

std::string picture_row(std::string_view label, std::string_view drawing, std::string_view words) {
  return fmt::format(
      "<tr><th scope=\"row\">{0}</th><td class=\"plot\"><svg height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">{3}</svg></td><td class=\"words\">{2}</td></tr>\n",
      markup_text(label), kRowHeight, markup_text(words), drawing);
}

std::string picture(std::string_view rows) { return fmt::format("<table class=\"picture\">\n{}</table>\n", rows); }

std::string key(std::string_view drawing, std::string_view what) {
  return fmt::format("<span class=\"entry\"><svg class=\"key\" height=\"14\" aria-hidden=\"true\">{}</svg>{}</span>\n",
                     drawing, markup_text(what));
}

std::string key(const char* kind, const char* pattern, std::string_view what) {
  return key(rect(kind, 0, 100, 1, 12) + (*pattern == '\0' ? "" : rect(pattern, 0, 100, 1, 12)), what);
}

int digits_for(double largest_ms) { return largest_ms >= 1000 ? 0 : largest_ms >= 100 ? 1 : largest_ms >= 10 ? 2 : 3; }

}  // namespace underlap::page
