// SPDX-License-Identifier: Apache-2.0
#include "profiler/page/timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "platform/text/digits.hpp"
#include "platform/text/escape.hpp"
#include "profiler/analysis/mode_name.hpp"
#include "profiler/page/embedded_text.hpp"
#include "profiler/page/timeline_lanes.hpp"
#include "profiler/trace/kernel_name.hpp"
#include "profiler/trace/mode_colors.hpp"

namespace underlap::page {
namespace {

constexpr std::int32_t kNarrowest = 400;
constexpr std::int64_t kMostZoom = 20;  ///< up to which pieces stay apart
constexpr std::size_t kMostPieces = 8000;
constexpr int kAxisHeight = 22;
constexpr int kLaneHeight = 14;
constexpr int kLaneStep = 17;
constexpr int kRankGap = 6;
constexpr int kLegendHeight = 20;
constexpr double kCharacterWidth = 6.6;
constexpr std::size_t kLongestLabel = 32;
constexpr std::size_t kLongestName = 80;

constexpr std::array<const char*, kNumLooks> kLookClasses{"compute", "copy", "hidden", "exposed", "exposed", "exposed"};
constexpr std::array<const char*, kNumLooks> kLookTexts{
    "compute", "copy", "hidden", "exposed", "exposed, transferring", "exposed, waiting"};

std::size_t index_of(Look look) { return static_cast<std::size_t>(look); }
bool is_communication(Look look) { return look >= Look::hidden; }

std::string shortened(std::string_view text, std::size_t longest) {
  return text.size() <= longest ? std::string(text) : std::string(first_characters(text, longest - 3)) + "...";
}

std::string time_text(std::int64_t ns) {
  const double us = static_cast<double>(ns) / 1e3;
  return us < 1000 ? in_digits(us, 4) + " µs" : in_digits(us / 1e3, 4) + " ms";
}

// Without trailing zeros, in hundredths of a pixel.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// Where everything is.
struct Layout {
  double width = 0;
  double left = 0;  ///< of the plot
  double plot_width = 0;
  double plot_height = 0;
  std::vector<double> tops;  ///< of the lanes, in the plot
};

Layout layout_of(const Lanes& lanes, double width) {
  Layout layout;
  layout.width = width;
  std::size_t longest = 0;
  double top = 0;
  for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
    if (i > 0 && lanes.lanes[i].rank != lanes.lanes[i - 1].rank) top += kRankGap;
    layout.tops.push_back(top);
    top += kLaneStep;
    longest = std::max(longest, std::min(lanes.lanes[i].label.size(), kLongestLabel));
  }
  layout.left = std::min(std::ceil(static_cast<double>(longest) * kCharacterWidth) + 12, width / 3);
  layout.plot_width = width - layout.left - 16;
  layout.plot_height = std::max(top, static_cast<double>(kLaneStep));
  return layout;
}

// 1, 2 or 5 times a power of ten, for about eight ticks.
double tick_of(double length_ms) {
  const double least = std::max(length_ms, 1e-9) / 8;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

std::string axis(const Lanes& lanes, const Layout& layout) {
  const double length_ms = static_cast<double>(lanes.length_ns) / 1e6;
  const double tick = tick_of(length_ms);
  std::string text = "<g class=\"axis\">";
  for (int i = 0; i * tick <= length_ms; ++i) {
    const double x = layout.left + layout.plot_width * i * tick / std::max(length_ms, 1e-9);
    text += fmt::format("<line class=\"tick\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>", number(x),
                        kAxisHeight - 4, number(kAxisHeight + layout.plot_height));
    text += fmt::format("<text class=\"soft\" x=\"{}\" y=\"13\" text-anchor=\"middle\">{}{}</text>", number(x),
                        in_digits(i * tick, 6), i == 0 ? " ms" : "");
  }
  return text + "</g>\n";
}

std::string labels(const Lanes& lanes, const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
    const std::string& label = lanes.lanes[i].label;
    const double top = kAxisHeight + layout.tops[i];
    if (i % 2 == 0)
      text += fmt::format("<rect class=\"band\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>", number(top - 1),
                          number(layout.width), kLaneStep);
    text += fmt::format("<text x=\"4\" y=\"{}\">{}<title>{}</title></text>\n", number(top + 11.5),
                        markup_text(shortened(label, kLongestLabel)), markup_text(shortened(label, kLongestName)));
  }
  return text;
}

/// Writes the work of the lanes.
class Plot {
 public:
  Plot(const Trace& trace, const Lanes& lanes, const Layout& layout, const std::string& id)
      : trace_(trace), lanes_(lanes), layout_(layout), id_(id) {}

  std::string text() {
    out_ = fmt::format(
        "<svg class=\"plot\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"0 0 {2} {3}\" "
        "preserveAspectRatio=\"none\">\n",
        number(layout_.left), kAxisHeight, number(layout_.plot_width), number(layout_.plot_height));
    for (std::size_t i = 0; i < lanes_.lanes.size(); ++i) {
      out_ += fmt::format("<g transform=\"translate(0 {})\">\n", number(layout_.tops[i]));
      for (const LanePieces& group : lanes_.lanes[i].groups) add(group);
      out_ += "</g>\n";
    }
    return out_ + "</svg>\n";
  }

 private:
  void add(const LanePieces& group) {
    const auto mode = static_cast<std::size_t>(group.mode);
    const std::string classes = is_communication(group.look)
                                    ? fmt::format("{} m{}", kLookClasses[index_of(group.look)], mode)
                                    : kLookClasses[index_of(group.look)];
    const std::string style =
        group.look == Look::exposed_wait ? fmt::format(" style=\"fill:url(#{}-m{})\"", id_, mode) : "";
    out_ += fmt::format("<g class=\"{}\"{}>", classes, style);
    for (const LanePiece& piece : group.pieces) add(group, piece);
    out_ += "</g>\n";
  }

  void add(const LanePieces& group, const LanePiece& piece) {
    const double scale = layout_.plot_width / static_cast<double>(std::max<std::int64_t>(lanes_.length_ns, 1));
    const std::int64_t length_ns = piece.end_ns - piece.begin_ns;
    const double density =
        static_cast<double>(piece.busy_ns) / static_cast<double>(std::max<std::int64_t>(length_ns, 1));
    const std::string opacity =
        piece.count == 1 || density > .95 ? "" : fmt::format(" opacity=\"{:.1f}\"", std::max(density, .5));
    fmt::format_to(std::back_inserter(out_), "<rect x=\"{}\" width=\"{}\" height=\"{}\"{}><title>{}</title></rect>",
                   number(scale * static_cast<double>(piece.begin_ns)),
                   number(std::max(scale * static_cast<double>(length_ns), .01)), kLaneHeight, opacity,
                   title(group, piece));
  }

  std::string title(const LanePieces& group, const LanePiece& piece) {
    const std::string what =
        is_communication(group.look)
            ? fmt::format("{} communication, {}", analysis::mode_name(group.mode), kLookTexts[index_of(group.look)])
            : kLookTexts[index_of(group.look)];
    if (piece.count > 1)
      return fmt::format("{} short pieces&#10;{} in {}&#10;{}", piece.count, time_text(piece.busy_ns),
                         time_text(piece.end_ns - piece.begin_ns), what);
    const std::int64_t whole_ns = trace_.duration_ns()[piece.slice];
    const std::string whole = whole_ns == piece.busy_ns ? "" : " of " + time_text(whole_ns);
    return fmt::format("{}&#10;{}{}&#10;{}", name(trace_.name(piece.slice)), time_text(piece.busy_ns), whole, what);
  }

  // As markup. Tens of thousands of pieces have a few names.
  const std::string& name(NameId id) {
    const auto [entry, is_new] = names_.try_emplace(id);
    if (is_new) entry->second = markup_text(shortened(short_work_name(name_of(id)), kLongestName));
    return entry->second;
  }

  const Trace& trace_;
  const Lanes& lanes_;
  const Layout& layout_;
  const std::string& id_;
  std::string out_;
  std::map<NameId, std::string> names_;
};

using Looks = std::set<std::pair<Mode, Look>>;

Looks looks_of(const Lanes& lanes) {
  Looks looks;
  for (const Lane& lane : lanes.lanes)
    for (const LanePieces& group : lane.groups) looks.emplace(group.mode, group.look);
  return looks;
}

std::string color_rules(const Looks& looks) {
  std::set<Mode> modes;
  for (const auto& [mode, look] : looks)
    if (is_communication(look)) modes.insert(mode);
  std::string light, dark;
  for (const Mode mode : modes) {
    const auto index = static_cast<std::size_t>(mode);
    const auto rule = [&](std::uint32_t color) {
      return fmt::format(".underlap-timeline .m{0} {{ fill: #{1:06x}; stroke: #{1:06x}; }}\n", index, color);
    };
    light += rule(kModeColors[index].light);
    dark += rule(kModeColors[index].dark);
  }
  return fmt::format("{}@media (prefers-color-scheme: dark) {{\n{}}}\n", light, dark);
}

// page.js narrows those of the plot as it zooms, so the legend has its own.
std::string patterns(const Looks& looks, const std::string& id) {
  std::string text = "<defs>";
  for (const auto& [mode, look] : looks)
    for (const auto& [name, classes] : {std::pair{"m", "zoomed"}, std::pair{"l", "fixed"}})
      if (look == Look::exposed_wait)
        text += fmt::format(
            "<pattern id=\"{0}-{2}{1}\" class=\"{3}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\"><rect class=\"m{1}\" width=\"6\" height=\"6\"/><line class=\"stripe\" "
            "x1=\"3\" y1=\"0\" x2=\"3\" y2=\"6\"/></pattern>",
            id, static_cast<std::size_t>(mode), name, classes);
  return text + "</defs>\n";
}

/// Entries in lines of the picture's width, and notes.
class Legend {
 public:
  Legend(double width, double top) : width_(width), y_(top) {}

  void add(const std::string& swatch, const std::string& what) {
    const double length = static_cast<double>(what.size()) * kCharacterWidth + 38;
    if (x_ > 4 && x_ + length > width_) next_line();
    if (!swatch.empty())
      text_ +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"20\" height=\"12\" {}/>", number(x_), number(y_ + 4), swatch);
    text_ += fmt::format("<text class=\"soft\" x=\"{}\" y=\"{}\">{}</text>\n", number(x_ + (swatch.empty() ? 0 : 25)),
                         number(y_ + 14), markup_text(what));
    x_ += length;
  }
  void next_line() {
    x_ = 4;
    y_ += kLegendHeight;
  }
  const std::string& text() const { return text_; }
  double end() const { return y_ + kLegendHeight + 4; }

 private:
  double width_;
  double x_ = 4;
  double y_;
  std::string text_;
};

Legend legend_of(const Lanes& lanes, const Looks& looks, const Layout& layout, const std::string& id) {
  Legend legend(layout.width, kAxisHeight + layout.plot_height);
  for (const auto& [mode, look] : looks) {
    const auto index = static_cast<std::size_t>(mode);
    if (!is_communication(look))
      legend.add(fmt::format("class=\"{}\"", kLookClasses[index_of(look)]), kLookTexts[index_of(look)]);
    else if (look == Look::exposed_wait)
      legend.add(fmt::format("class=\"m{1}\" style=\"fill:url(#{0}-l{1})\"", id, index),
                 analysis::mode_name(mode) + " " + kLookTexts[index_of(look)]);
    else
      legend.add(fmt::format("class=\"{} m{}\"", kLookClasses[index_of(look)], index),
                 analysis::mode_name(mode) + " " + kLookTexts[index_of(look)]);
  }
  std::string note;
  if (lanes.shown_ranks < lanes.num_ranks)
    note = fmt::format("{} of {} ranks: those with the least and the most exposed time. ", lanes.shown_ranks,
                       lanes.num_ranks);
  if (lanes.left_out > 0) note += fmt::format("The {} least busy streams are not shown.", lanes.left_out);
  if (note.empty()) return legend;
  legend.next_line();
  legend.add("", note);
  return legend;
}

// Patterns need names that differ between the pictures of a document. FNV-1a.
std::string id_of(const TimelineSvgRequest& request, const Lanes& lanes) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto take = [&](std::int64_t value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211ULL; };
  for (const std::int64_t value : {std::int64_t{request.block}, std::int64_t{request.step}, lanes.length_ns})
    take(value);
  for (const Lane& lane : lanes.lanes)
    for (const LanePieces& group : lane.groups)
      for (const LanePiece& piece : group.pieces) take(piece.begin_ns), take(piece.busy_ns);
  return fmt::format("t{:016x}", hash);
}

}  // namespace

std::string timeline_svg(const Trace& trace, const TimelineSvgRequest& request) {
  if (request.width < kNarrowest)
    throw std::invalid_argument(fmt::format("width: {} is below the minimum of {}", request.width, kNarrowest));
  const Lanes lanes = find_lanes(trace, request, kMostZoom * request.width, kMostPieces);
  const Layout layout = layout_of(lanes, request.width);
  const Looks looks = looks_of(lanes);
  const std::string id = id_of(request, lanes);
  const Legend legend = legend_of(lanes, looks, layout, id);
  const std::string about =
      fmt::format("Timeline of step {}: {} in {} lanes", request.step, time_text(lanes.length_ns), lanes.lanes.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"underlap-timeline\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\" data-length-ms=\"{3}\">\n",
      number(layout.width), number(legend.end()), markup_text(about), static_cast<double>(lanes.length_ns) / 1e6);
  text += fmt::format("<style>\n{}{}</style>\n{}", timeline_css(), color_rules(looks), patterns(looks, id));
  text +=
      fmt::format("<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", number(layout.width), number(legend.end()));
  text += labels(lanes, layout) + axis(lanes, layout) + Plot(trace, lanes, layout, id).text();
  return text + legend.text() + "</svg>\n";
}

}  // namespace underlap::page
