// SPDX-License-Identifier: Apache-2.0
// underlap-viewer: windows, or pictures without one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/memory_room.hpp"
#include "platform/text/output.hpp"
#include "viewer/app/display.hpp"
#include "viewer/app/main_window.hpp"
#include "viewer/app/render.hpp"

namespace underlap::viewer {
namespace {

constexpr const char* kScaling = "scaling";  // the chart that a window opens with

struct Arguments {
  std::vector<std::string> inputs;
  std::string render;
  std::string range;
  std::string chart;
  std::string cell;
  std::string size;
  double scale = 1;
  bool dark = false;
  bool compare = false;
  bool force = false;
};

QSize size_from(const std::string& text) {
  int width = 0, height = 0;
  char rest = 0;
  constexpr int kMost = 20'000;
  if (std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) != 2 || width < 300 || height < 100 ||
      width > kMost || height > kMost)
    throw std::invalid_argument(fmt::format(
        "--size is \"{0}\"; use pixels such as 1600x900, at least 300x100 and at most {1}x{1}", text, kMost));
  return {width, height};
}

QStringList inputs_of(const Arguments& arguments) {
  QStringList inputs;
  for (const std::string& input : arguments.inputs) inputs << QString::fromStdString(input);
  return inputs;
}

RenderRequest request_of(const Arguments& arguments) {
  RenderRequest request;
  request.output = arguments.render;
  request.inputs = inputs_of(arguments);
  if (!arguments.range.empty()) request.range = parse_range(arguments.range);
  if (!arguments.size.empty()) request.size = size_from(arguments.size);
  request.chart = arguments.chart;
  request.cell = arguments.cell;
  request.scale = arguments.scale;
  request.theme = arguments.dark ? &Theme::dark() : &Theme::light();
  request.is_forced = arguments.force;
  return request;
}

void check(const Arguments& arguments) {
  const bool renders = !arguments.render.empty();
  const bool has_chart = !arguments.chart.empty() && arguments.chart != kScaling;
  if (!renders && (!arguments.range.empty() || has_chart || !arguments.size.empty() || !arguments.cell.empty()))
    throw std::invalid_argument(
        "--range, --chart, --cell and --size need --render FILE; in a window, Ctrl+H shows charts, and --chart scaling "
        "compares several runs");
  if (arguments.compare && arguments.inputs.size() != 2)
    throw std::invalid_argument(
        fmt::format("--compare takes two traces or runs, the baseline first, not {}", arguments.inputs.size()));
  if (arguments.chart == kScaling && (arguments.inputs.empty() || arguments.compare))
    throw std::invalid_argument("--chart scaling takes run folders and cannot be used with --compare");
}

// Drops Qt's warning about XDG_RUNTIME_DIR: users of the viewer cannot fix it, and nothing needs that folder.
void pass_on(QtMsgType, const QMessageLogContext&, const QString& message) {
  if (!message.startsWith("QStandardPaths: XDG_RUNTIME_DIR")) print_error("{}\n", message.toStdString());
}

int show(int& argc, char** argv, const Arguments& arguments) {
  const DisplayProbe display;
  if (!display.why_not().empty()) {
    print_error("underlap-viewer: {}\n  --render out.png renders a picture without a display\n", display.why_not());
    return kBadInput;
  }
  QApplication application(argc, argv);
  QApplication::setApplicationName("Underlap");
  MainWindow window;
  if (arguments.dark) window.set_dark(true);
  window.show();
  const QStringList inputs = inputs_of(arguments);
  if (!arguments.chart.empty())
    window.scale(inputs, arguments.force);
  else if (arguments.compare)
    window.compare(inputs[0], inputs[1], arguments.force);
  else
    for (const QString& input : inputs) window.open(input);
  return QApplication::exec();
}

int run(int& argc, char** argv, const Arguments& arguments) {
  check(arguments);
  qInstallMessageHandler(pass_on);
  if (arguments.render.empty()) return show(argc, argv, arguments);
  ::setenv("QT_QPA_PLATFORM", "offscreen", 1);  // overrides the desktop's setting: a picture needs no window
  QApplication application(argc, argv);
  render(request_of(arguments));
  return kOk;
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("PATH", arguments.inputs,
                 "traces, trace folders, run folders, or the output of `underlap gate --json`; one tab each");
  app.add_flag("--compare", arguments.compare,
               "compare two traces side by side, baseline first; for two runs, show the gate's verdicts");
  app.add_option("--render", arguments.render,
                 "render a picture instead of opening a window: FILE.png or FILE.svg; FILE.csv for a chart");
  app.add_option("--range", arguments.range,
                 "with --render: time range, 12ms..18ms, \"step 3\" or all (default: all, or only the first block)");
  app.add_option("--chart", arguments.chart,
                 "with --render: a chart instead of the timeline: modes, steps, change, matrix, bandwidth, gate or "
                 "scaling (of several runs; also in a window)");
  app.add_option("--cell", arguments.cell,
                 "with --render of one or two runs: the cell whose timeline, chart or change is drawn");
  app.add_option("--size", arguments.size, "with --render: size in pixels, 1600x900 (default: as high as the content)");
  app.add_option("--scale", arguments.scale, "with --render: scale factor of the picture")
      ->check(CLI::Range(0.5, 8.0))
      ->capture_default_str();
  app.add_flag("--dark", arguments.dark, "dark colors");
  app.add_flag("--force", arguments.force, "compare even if the two sides did different work");
  app.footer(
      "Example: underlap-viewer out/traces/00-off.pftrace\n"
      "         underlap-viewer --compare before.json.gz after.json.gz\n"
      "         underlap-viewer --compare baselines/main out/pr\n"
      "         underlap-viewer --chart scaling out/2 out/8 out/64\n"
      "         underlap-viewer --render step.png --range \"step 3\" out/traces/00-off.pftrace\n"
      "         underlap-viewer --render scaling.svg --chart scaling out/2 out/8 out/64");
}

}  // namespace
}  // namespace underlap::viewer

int main(int argc, char** argv) {
  using namespace underlap;
  viewer::Arguments arguments;
  CLI::App app("Shows traces and runs: which communication is hidden under compute, which is exposed, and why",
               "underlap-viewer");
  viewer::add_options(app, arguments);
  give_back_large_blocks();  // a trace's arrays grow while it is read
  try {
    app.parse(argc, argv);
    return viewer::run(argc, argv, arguments);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kOk : kBadInput;
  } catch (const std::invalid_argument& error) {
    print_error("underlap-viewer: {}\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    print_error("underlap-viewer: {}\n", error.what());
    return kRunFailed;
  }
}
