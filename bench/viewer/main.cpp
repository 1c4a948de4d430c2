// SPDX-License-Identifier: Apache-2.0
// underlap-viewer-bench: how long frames, hovering, searching and opening take, without a window.
//
//   underlap-viewer-bench TRACE            what `underlap-viewer TRACE` would do
//   underlap-viewer-bench --ranks 64 --streams 8 --slices 4000000    a generated trace; --save FILE keeps it
//
// Frames are those of one session of zooming, moving and scrolling at 1920 x 1080, always the same; each is drawn by
// the processor into an image, and that is copied, as a window does.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QEventLoop>
#include <QPainter>
#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>

#include "platform/memory_room.hpp"
#include "platform/numbers/median.hpp"
#include "platform/text/output.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/formats/format.hpp"
#include "viewer/app/load_job.hpp"
#include "viewer/model/document.hpp"
#include "viewer/scene/scene.hpp"
#include "viewer/timeline/selection.hpp"
#include "viewer/timeline/slice_search.hpp"

namespace underlap::viewer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr QSize kScreen{1920, 1080};

struct Arguments {
  std::string trace;
  std::int32_t ranks = 64;
  std::int32_t streams = 8;
  std::int64_t slices = 4'000'000;
  std::string save;
};

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// What this thread computed, whatever else the machine does.
double processor_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void print(const char* what, const std::vector<double>& ms, double target_ms) {
  print_text("{:<34} {:>8.3f} {:>8.3f} {:>8.3f} {:>8}   {}\n", what, percentile(ms, 50), percentile(ms, 99),
             percentile(ms, 100), ms.size(), target_ms > 0 ? fmt::format("p99 under {:g}", target_ms) : "");
}

// A stream's slices, one after the other until `end_ns`.
struct StreamPlan {
  Tag tag = {};
  std::int64_t slices = 0;
  std::int64_t end_ns = 0;
};

void add_stream(Trace& trace, std::uint32_t track, const StreamPlan& plan, const std::vector<NameId>& names,
                std::mt19937& random) {
  const std::int64_t apart = std::max<std::int64_t>(plan.end_ns / std::max<std::int64_t>(plan.slices, 1), 4);
  for (std::int64_t i = 0; i < plan.slices; ++i) {
    const std::int64_t length = std::uniform_int_distribution<std::int64_t>(apart / 4, apart - 1)(random);
    trace.add({.track = track,
               .start_ns = i * apart + std::uniform_int_distribution<std::int64_t>(0, apart - length - 1)(random),
               .duration_ns = length,
               .name = names[random() % names.size()],
               .tag = plan.tag});
  }
}

// Each rank computes on one stream, and communicates on the others: of five slices four compute, of 16 us in the mean.
Trace generated(const Arguments& arguments) {
  Trace trace;
  std::mt19937 random(1);
  std::vector<NameId> names;
  for (int i = 0; i < 400; ++i) names.push_back(intern("kernel_number_" + std::to_string(i) + "<float, 128>"));
  const std::int64_t of_rank = arguments.slices / arguments.ranks;
  const std::int64_t computing = arguments.streams == 1 ? of_rank : of_rank * 4 / 5;
  const std::int64_t end_ns = computing * 16'000;
  trace.reserve(static_cast<std::size_t>(arguments.slices));
  for (std::int32_t rank = 0; rank < arguments.ranks; ++rank)
    for (std::int32_t stream = 0; stream < arguments.streams; ++stream) {
      const bool computes = stream == 0;
      const std::uint32_t track =
          trace.add_track({rank, stream, computes ? "compute" : "comm " + std::to_string(stream)});
      StreamPlan plan{.slices = computing, .end_ns = end_ns};
      if (!computes) {
        plan.tag = {.kind = Kind::communication, .mode = static_cast<Mode>(1 + stream % 4)};
        plan.slices = (of_rank - computing) / (arguments.streams - 1);
      }
      add_stream(trace, track, plan, names, random);
    }
  return trace;
}

// One session: into the middle, along, over all lanes, and out again.
std::vector<SceneState> session(const Timeline& timeline, int height_of_lanes) {
  const int width = kScreen.width() - Scene::kNames;
  const auto length = static_cast<double>(timeline.length_ns());
  SceneState state;
  state.has_legend = true;
  // As after a jump to the worst exposed: its arrows are drawn, too.
  if (const auto worst = worst_exposed(timeline, 1); !worst.empty()) state.selected = worst.front().slice;
  state.ns_per_pixel = length / width;
  std::vector<SceneState> frames{state};
  const auto zoom = [&](double factor, double around, int times) {
    for (int i = 0; i < times; ++i) {
      const double focus = state.begin_ns + around * width * state.ns_per_pixel;
      state.ns_per_pixel /= factor;
      state.begin_ns = focus - around * width * state.ns_per_pixel;
      frames.push_back(state);
    }
  };
  const auto pan = [&](double pixels, int times) {
    for (int i = 0; i < times; ++i) {
      state.begin_ns += pixels * state.ns_per_pixel;
      frames.push_back(state);
    }
  };
  const auto scroll = [&](int times) {
    const int most = std::max(0, height_of_lanes - kScreen.height());
    for (int i = 1; i <= times; ++i) {
      state.scroll = static_cast<int>(static_cast<std::int64_t>(most) * i / times);
      frames.push_back(state);
    }
  };
  scroll(100);
  zoom(1.06, 0.37, 120);
  pan(23, 150);
  scroll(60);
  pan(-41, 150);
  zoom(1 / 1.05, 0.6, 140);
  zoom(1.2, 0.2, 60);
  pan(60, 120);
  zoom(1 / 1.2, 0.5, 60);
  return frames;
}

void bench_frames(const Timeline& timeline, const analysis::Summary& summary) {
  LaneArrangement arrangement(timeline);
  arrangement.set_ranks_collapsed(false);
  const Scene scene(timeline, summary, arrangement);
  const Palette palette(Theme::light());
  QImage image(kScreen, QImage::Format_RGB32), window(kScreen, QImage::Format_RGB32);
  QFont font = QApplication::font();
  font.setPixelSize(12);
  std::vector<double> frames, processor, hovers;
  std::mt19937 random(2);
  for (const SceneState& state : session(timeline, scene.height_of_lanes())) {
    const auto begin = Clock::now();
    const double processor_begin = processor_ms();
    ImageSurface surface(image, 1);
    scene.draw(surface, kScreen, 1, state, palette, font);
    QPainter painter(&window);
    painter.drawImage(0, 0, image);
    scene.draw_over(painter, kScreen, state, Theme::light());
    painter.end();
    frames.push_back(ms_since(begin));
    processor.push_back(processor_ms() - processor_begin);
    const QPoint at(Scene::kNames + static_cast<int>(random() % 1600), static_cast<int>(random() % 1080));
    const auto hover = Clock::now();
    static_cast<void>(scene.hit(at, kScreen, state));
    hovers.push_back(ms_since(hover));
  }
  print("frame", frames, 16.7);
  print("frame, CPU time", processor, 16.7);
  print("hover", hovers, 1);
}

void bench_questions(const Timeline& timeline) {
  std::vector<double> searches, selections;
  for (const char* words : {"kernel", "gemm", "nothing_is_called_so", "mode:dp", "exposed", "number_12 kind:compute"}) {
    const auto begin = Clock::now();
    static_cast<void>(find_slices(timeline, parse_query(words)));
    searches.push_back(ms_since(begin));
  }
  for (int i = 1; i <= 8; ++i) {
    const auto begin = Clock::now();
    static_cast<void>(
        select(timeline, timeline.length_ns() / 2, timeline.length_ns() / 2 + timeline.length_ns() / (i * 20)));
    selections.push_back(ms_since(begin));
  }
  print("search", searches, 200);
  print("statistics of a selection", selections, 0);
}

double resident_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

void bench(const Timeline& timeline, const analysis::Summary& summary) {
  print_text("{} slices, {} lanes of {} ranks, {:.0f} bytes per slice in addition to the trace\n\n",
             timeline.trace().size(), timeline.lanes().size(), timeline.ranks().size(),
             static_cast<double>(timeline.bytes()) / std::max(1.0, static_cast<double>(timeline.trace().size())));
  print_text("{:<34} {:>8} {:>8} {:>8} {:>8}\n", "milliseconds", "median", "p99", "longest", "count");
  bench_frames(timeline, summary);
  bench_questions(timeline);
  print_text("\npeak resident memory: {:.0f} MB\n", resident_mb());
}

struct Opened {
  std::shared_ptr<const TraceDocument> document;
  double ms = 0;
  std::optional<double> first_picture_ms;  // of what was read until then; none where all was read before that
  std::size_t first_slices = 0;
};

void draw_once(const TraceDocument& document) {
  const LaneArrangement arrangement(*document.timeline);
  const Scene scene(*document.timeline, document.traced.summary, arrangement);
  SceneState state;
  state.ns_per_pixel = static_cast<double>(std::max<std::int64_t>(document.timeline->length_ns(), 1)) /
                       (kScreen.width() - Scene::kNames);
  QImage image(kScreen, QImage::Format_RGB32);
  ImageSurface surface(image, 1);
  scene.draw(surface, kScreen, 1, state, Palette(Theme::light()), QApplication::font());
}

Opened open_as_a_window_does(const std::string& path) {
  Opened opened;
  QString why;
  QEventLoop loop;
  const auto begin = Clock::now();
  LoadJob job(QString::fromStdString(path), work_for({.path = QString::fromStdString(path)}));
  job.on_part = [&](const std::shared_ptr<const TraceDocument>& part) {
    draw_once(*part);
    if (opened.first_picture_ms) return;
    opened.first_picture_ms = ms_since(begin);
    opened.first_slices = part->timeline->trace().size();
  };
  job.on_done = [&](const std::shared_ptr<const Document>& document) {
    opened.document = std::dynamic_pointer_cast<const TraceDocument>(document);
    if (opened.document) draw_once(*opened.document);
    opened.ms = ms_since(begin);
    loop.quit();
  };
  job.on_failed = [&](const QString& what) {
    why = what;
    loop.quit();
  };
  job.start();
  loop.exec();
  if (!why.isEmpty()) throw std::invalid_argument(why.toStdString());
  if (!opened.document) throw std::invalid_argument(path + " is not a trace");
  return opened;
}

void run(const Arguments& arguments) {
  if (!arguments.trace.empty()) {
    const Opened opened = open_as_a_window_does(arguments.trace);
    if (opened.first_picture_ms)
      print_text("first picture after {:.2f} s, with {} slices; ", *opened.first_picture_ms / 1e3, opened.first_slices);
    print_text("opened in {:.2f} s; ", opened.ms / 1e3);
    return bench(*opened.document->timeline, opened.document->traced.summary);
  }
  const Trace trace = generated(arguments);
  if (!arguments.save.empty()) return formats::write_trace(arguments.save, trace);
  const analysis::Summary summary;
  const auto begin = Clock::now();
  const Timeline timeline(trace, summary, 2);
  print_text("laid out in {:.2f} s; ", ms_since(begin) / 1e3);
  bench(timeline, summary);
}

}  // namespace
}  // namespace underlap::viewer

int main(int argc, char** argv) {
  underlap::viewer::Arguments arguments;
  CLI::App app("Measure the viewer's frame and response times", "underlap-viewer-bench");
  app.add_option("TRACE", arguments.trace, "a trace or a folder of traces (default: a generated trace)");
  app.add_option("--ranks", arguments.ranks, "ranks in the generated trace")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--streams", arguments.streams, "streams of each rank")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--slices", arguments.slices, "slices in total")
      ->check(CLI::Range(1000, 100'000'000))
      ->capture_default_str();
  app.add_option("--save", arguments.save, "only write the generated trace to this file");
  CLI11_PARSE(app, argc, argv);
  ::setenv("QT_QPA_PLATFORM", "offscreen", 0);
  underlap::give_back_large_blocks();  // as the viewer does
  QApplication application(argc, argv);
  try {
    underlap::viewer::run(arguments);
  } catch (const std::exception& error) {
    underlap::print_error("underlap-viewer-bench: {}\n", error.what());
    return 2;
  }
  return 0;
}
