// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/render.hpp"

#include <fmt/format.h>

#include <QApplication>
#include <QPainter>
#include <charconv>
#include <cmath>
#include <deque>
#include <ranges>
#include <stdexcept>
#include <system_error>

#include "platform/atomic_file.hpp"
#include "platform/text/output.hpp"
#include "profiler/analysis/not_comparable.hpp"
#include "profiler/compare/compare_report.hpp"
#include "profiler/report/scaling/scaling.hpp"
#include "viewer/charts/write_chart.hpp"
#include "viewer/model/document.hpp"
#include "viewer/scene/scene.hpp"
#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {
namespace {

constexpr int kWidth = 1600;
constexpr int kHighest = 4000;
constexpr int kTitle = 24;
constexpr int kFontPixels = 12;

[[noreturn]] void refuse_range(const std::string& text) {
  throw std::invalid_argument(
      fmt::format("--range is \"{}\"; use two times (12ms..18.5ms), a step (\"step 3\") or all", text));
}

std::int64_t time_from(const std::string& text, const std::string& whole) {
  double amount = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  const std::string unit(stop, text.data() + text.size());
  const double factor = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : unit == "ns" ? 1 : 0;
  if (error != std::errc() || factor == 0 || !std::isfinite(amount)) refuse_range(whole);
  return std::llround(amount * factor);
}

// One timeline in a picture, with its place.
struct PicturePart {
  PicturePart(std::shared_ptr<const TraceDocument> of, const QString& text)
      : document(std::move(of)), title(text), short_title(text) {}

  std::shared_ptr<const TraceDocument> document;
  LaneArrangement arrangement{*document->timeline};
  Scene scene{*document->timeline, document->traced.summary, arrangement};
  QString title;
  QString short_title;  ///< where that has no room
  TimeRange range;
  std::int64_t origin_ns = 0;
};

using PictureParts = std::deque<PicturePart>;  // which moves none

TimeRange range_of(const Timeline& timeline, const std::optional<RangeRequest>& request) {
  const TimeRange all = timeline.all();
  if (!request) return timeline.opening();
  if (request->is_all) return all;
  if (request->time && request->time->begin_ns < all.end_ns && request->time->end_ns > 0) return *request->time;
  if (request->time)
    throw std::invalid_argument(fmt::format("--range: the trace has nothing from {} to {}; its duration is {}",
                                            time_text(request->time->begin_ns), time_text(request->time->end_ns),
                                            time_text(all.end_ns)));
  for (const StepSpan& step : timeline.steps())
    if (step.step == *request->step) return {step.begin_ns, step.end_ns};
  const std::span<const StepSpan> steps = timeline.first_steps();
  throw std::invalid_argument(
      fmt::format("--range: the trace has no step {}; it has {}", *request->step,
                  steps.empty() ? "no known steps" : fmt::format("{} to {}", steps.front().step, steps.back().step)));
}

int height_of(const PicturePart& part) { return kTitle + Scene::kRulers + part.scene.height_of_lanes() + 8; }

QSize size_of(const PictureParts& parts, const RenderRequest& request) {
  if (request.size) return *request.size;
  int height = Scene::kLegend;
  for (const PicturePart& part : parts) height += height_of(part);
  return {kWidth, std::min(height, kHighest)};
}

// Draws the parts below each other, each as high as its lanes are or as there is room; below them the legend, where
// all lanes fit above it.
void draw_parts(const PictureParts& parts, const QSize& size,
                const std::function<void(const PicturePart&, const QRect&, const SceneState&)>& draw) {
  int top = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PicturePart& part = parts[i];
    const int room = (size.height() - top) / static_cast<int>(parts.size() - i);
    const bool is_last = i + 1 == parts.size();
    const int height = is_last ? size.height() - top : std::min(room, height_of(part));
    SceneState state;
    state.has_legend = is_last && height_of(part) + Scene::kLegend <= height;
    state.begin_ns = static_cast<double>(part.range.begin_ns);
    state.origin_ns = part.origin_ns;
    state.ns_per_pixel =
        static_cast<double>(part.range.end_ns - part.range.begin_ns) / std::max(1, size.width() - Scene::kNames);
    draw(part, QRect(0, top, size.width(), height), state);
    top += height;
  }
}

QFont font_of(double scale) {
  QFont font = QApplication::font();
  font.setPixelSize(static_cast<int>(std::lround(kFontPixels * scale)));
  return font;
}

void draw_title(QPainter& painter, const PicturePart& part, const QRect& where, const Theme& theme) {
  painter.fillRect(QRect(where.left(), where.top(), where.width(), kTitle), theme.surface);
  painter.setPen(theme.text);
  painter.setFont(font_of(1));
  const QRect room(where.left() + 8, where.top(), where.width() - 16, kTitle);
  const bool has_room = painter.fontMetrics().horizontalAdvance(part.title) <= room.width();
  painter.drawText(
      room, Qt::AlignVCenter,
      painter.fontMetrics().elidedText(has_room ? part.title : part.short_title, Qt::ElideMiddle, room.width()));
}

void draw_image(const PictureParts& parts, const RenderRequest& request) {
  const QSize size = size_of(parts, request);
  check_pixels(size, request.scale);
  QImage image(size * request.scale, QImage::Format_RGB32);
  image.fill(request.theme->background);
  const Palette palette(*request.theme);
  draw_parts(parts, size, [&](const PicturePart& part, const QRect& where, const SceneState& state) {
    const QSize of_scene(where.width(), where.height() - kTitle);
    QImage scene(of_scene * request.scale, QImage::Format_RGB32);
    ImageSurface surface(scene, request.scale);
    part.scene.draw(surface, of_scene, request.scale, state, palette, font_of(request.scale));
    QPainter painter(&image);
    painter.drawImage(QPoint(0, static_cast<int>((where.top() + kTitle) * request.scale)), scene);
    painter.scale(request.scale, request.scale);
    draw_title(painter, part, where, *request.theme);
  });
  write_file_atomically(request.output, png_of(image));
}

void draw_svg(const PictureParts& parts, const RenderRequest& request) {
  const QSize size = size_of(parts, request);
  const Palette palette(*request.theme);
  const auto paint = [&](QPainter& painter) {
    draw_parts(parts, size, [&](const PicturePart& part, const QRect& where, const SceneState& state) {
      painter.save();
      painter.translate(where.left(), where.top() + kTitle);
      painter.setClipRect(QRect(0, 0, where.width(), where.height() - kTitle));
      PainterSurface surface(painter);
      part.scene.draw(surface, QSize(where.width(), where.height() - kTitle), 1, state, palette, font_of(1));
      painter.restore();
      draw_title(painter, part, where, *request.theme);
    });
  };
  write_file_atomically(request.output, svg_of(size, request.scale, {parts.front().title}, paint));
}

void draw_parts_to_file(const PictureParts& parts, const RenderRequest& request) {
  if (extension_of(request.output) == ".svg") return draw_svg(parts, request);
  draw_image(parts, request);
}

// `otherwise`: the chart if the request names none.
void write(const RenderRequest& request, const ChartInput& input, const char* otherwise = "") {
  const Chart chart = make_chart(request.chart.empty() ? otherwise : request.chart, input);
  write_chart(request.output, chart, *request.theme, request.size.value_or(fitting_size(chart, *request.theme)),
              request.scale);
}

// The trace of a cell of a run.
std::string trace_of_cell(const RunDocument& run, const std::string& cell) {
  const auto& cells = run.results.cells;
  const auto found = std::ranges::find(cells, cell, &report::CellResult::name);
  if (found == cells.end())
    throw std::invalid_argument(fmt::format("--cell: {} has no cell \"{}\"; available: {}", run.path, cell,
                                            fmt::join(cells | std::views::transform(&report::CellResult::name), ", ")));
  const std::string file = trace_file_of(run, static_cast<std::size_t>(found - cells.begin()));
  if (file.empty())
    throw std::invalid_argument(fmt::format("--cell: {} was run without recording, so it has no trace", cell));
  return file;
}

bool is_drawn_from(const RenderRequest& request, ChartSource source) {
  if (request.chart.empty()) return false;
  const std::vector<ChartSource>& needs = chart_kind(request.chart).needs;
  return std::ranges::find(needs, source) != needs.end();
}

void render_run(const RenderRequest& request, const std::string& folder) {
  const std::shared_ptr<const RunDocument> run = open_run(folder);
  if (!request.cell.empty() && !is_drawn_from(request, ChartSource::run)) {
    RenderRequest of_trace = request;
    of_trace.inputs = {trace_of_cell(*run, request.cell)};
    of_trace.cell.clear();
    return render(of_trace);
  }
  write(request, {.name = folder, .cell = request.cell, .run = &run->results, .summaries = &run->summaries}, "matrix");
}

void write_gate(const RenderRequest& request, const GateDocument& judged) {
  write(request, {.name = judged.path, .gate = &judged.report}, "gate");
}

// Prints what of a trace could not be used, as a window shows it.
std::shared_ptr<const TraceDocument> read_trace(const RenderRequest& request, const std::string& path) {
  ReadingWatch nobody;
  std::shared_ptr<const TraceDocument> document = open_trace(path, nobody, request.mode_map);
  for (const auto& [reason, count] : document->traced.trace.import.skipped)
    print_error("underlap-viewer: {}: skipped {}: {}\n", path, count, reason);
  for (const std::string& unused : attribution::unused_rules(document->traced.attribution))
    print_error("underlap-viewer: {}: {}\n", path, unused);
  return document;
}

void render_trace(const RenderRequest& request, const std::string& path) {
  const std::shared_ptr<const TraceDocument> document = read_trace(request, path);
  if (!request.chart.empty())
    return write(request, {.name = path, .trace = &document->traced.trace, .summary = &document->traced.summary});
  PictureParts parts;
  const TimeRange range = range_of(*document->timeline, request.range);
  const bool is_cut = !request.range && range.end_ns - range.begin_ns < document->timeline->length_ns();
  parts.emplace_back(document,
                     QString::fromStdString(path) + (is_cut ? ": first block (--range all draws every block)" : ""));
  parts.back().range = range;
  draw_parts_to_file(parts, request);
}

// Two traces, or those that two runs have of one cell.
std::pair<std::string, std::string> compared_traces(const RenderRequest& request) {
  const std::string from = request.inputs[0], to = request.inputs[1];
  const bool is_run = kind_of(from) == DocumentKind::run;
  if (kind_of(from) != kind_of(to) || kind_of(from) == DocumentKind::gate)
    throw std::invalid_argument(
        fmt::format("{} and {} are of different kinds; give two traces, or two runs and --cell NAME", from, to));
  if (is_run == !request.cell.empty()) {
    if (!is_run) return {from, to};
    return {trace_of_cell(*open_run(from), request.cell), trace_of_cell(*open_run(to), request.cell)};
  }
  if (!is_run) throw std::invalid_argument("--cell applies to runs; these are traces");
  throw std::invalid_argument(fmt::format(
      "{0} and {1} are runs; choose a cell with --cell NAME, or compare all cells as text: underlap compare {0} {1}",
      from, to));
}

std::shared_ptr<const CompareDocument> compared(const std::shared_ptr<const TraceDocument>& from,
                                                const std::shared_ptr<const TraceDocument>& to, bool is_forced) {
  try {
    return compare_documents(from, to, is_forced);
  } catch (const analysis::NotComparable& error) {
    throw std::invalid_argument(fmt::format("{} and {} are not comparable: {}", from->path, to->path, error.what()));
  }
}

// Both from the begin of the same step on, as long as the longer one.
void render_comparison(const RenderRequest& request) {
  const auto [from_file, to_file] = compared_traces(request);
  const std::shared_ptr<const TraceDocument> from = read_trace(request, from_file), to = read_trace(request, to_file);
  const std::shared_ptr<const CompareDocument> comparison = compared(from, to, request.is_forced);
  const compare::Comparison& change = comparison->report.comparisons.front();
  if (!request.chart.empty())
    return write(request, {.name = to->path, .how_made = how_made(to->traced.trace), .comparison = &change});
  PictureParts parts;
  const QString said = QString::fromStdString(compare::sentence_of(change));
  parts.emplace_back(to, QString("candidate %1: %2").arg(QString::fromStdString(to->path), said));
  parts.back().short_title = QString("candidate: %1").arg(said);
  parts.emplace_back(from, QString("baseline %1").arg(QString::fromStdString(from->path)));
  std::int64_t longest = 1;
  for (PicturePart& part : parts) {
    part.range = range_of(*part.document->timeline, request.range);
    longest = std::max(longest, part.range.end_ns - part.range.begin_ns);
    if (request.range && request.range->step) part.origin_ns = part.range.begin_ns;
  }
  for (PicturePart& part : parts) part.range.end_ns = part.range.begin_ns + longest;
  draw_parts_to_file(parts, request);
}

bool is_scaling(const RenderRequest& request) { return is_drawn_from(request, ChartSource::scaling); }

// Any number of runs, or series of runs.
void render_scaling(const RenderRequest& request) {
  const report::ScalingReport report =
      report::read_scaling(request.inputs, request.is_forced, [](const std::string&) {});
  write(request, {.scaling = &report});
}

void check(const RenderRequest& request) {
  const std::string extension = extension_of(request.output);
  const bool is_chart = !request.chart.empty() || (request.inputs.size() == 1 && request.cell.empty() &&
                                                   kind_of(request.inputs[0]) != DocumentKind::trace);
  if (extension != ".png" && extension != ".svg" && !(is_chart && extension == ".csv"))
    throw std::invalid_argument(
        fmt::format("--render is \"{}\"; use a .png or .svg file, or .csv for a chart", request.output));
  if (request.inputs.empty() || (request.inputs.size() > 2 && !is_scaling(request)))
    throw std::invalid_argument(
        fmt::format("--render takes a trace, a run, two traces to compare, or runs for --chart scaling, not {}",
                    request.inputs.size()));
  if (!request.chart.empty()) chart_kind(request.chart);
  if (!request.cell.empty() && (is_scaling(request) || is_drawn_from(request, ChartSource::gate)))
    throw std::invalid_argument(
        fmt::format("--cell applies to charts of one cell; {} draws all cells of the runs", request.chart));
  if (!request.cell.empty() && request.inputs.size() == 1 && kind_of(request.inputs[0]) != DocumentKind::run)
    throw std::invalid_argument(
        fmt::format("--cell applies to runs; {} is not a run: it has no results.json", request.inputs[0]));
  if (request.range && is_chart) throw std::invalid_argument("--range applies to timelines, not to charts");
}

}  // namespace

RangeRequest parse_range(const std::string& text) {
  RangeRequest request;
  request.is_all = text == "all";
  if (request.is_all) return request;
  if (text.starts_with("step ")) {
    std::int32_t step = 0;
    const auto [stop, error] = std::from_chars(text.data() + 5, text.data() + text.size(), step);
    if (error != std::errc() || stop != text.data() + text.size()) refuse_range(text);
    request.step = step;
    return request;
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) refuse_range(text);
  request.time = TimeRange{time_from(text.substr(0, dots), text), time_from(text.substr(dots + 2), text)};
  if (request.time->end_ns <= request.time->begin_ns) refuse_range(text);
  return request;
}

void render(const RenderRequest& request) {
  check(request);
  if (is_scaling(request)) return render_scaling(request);
  ReadingWatch nobody;
  if (request.inputs.size() == 2 && is_drawn_from(request, ChartSource::gate))
    return write_gate(request, *judge_runs(request.inputs[0], request.inputs[1], request.is_forced, nobody));
  if (request.inputs.size() == 2) return render_comparison(request);
  const std::string path = request.inputs[0];
  if (kind_of(path) == DocumentKind::run) return render_run(request, path);
  if (kind_of(path) == DocumentKind::gate) return write_gate(request, *open_gate(path));
  render_trace(request, path);
}

}  // namespace underlap::viewer
