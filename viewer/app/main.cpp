// SPDX-License-Identifier: Apache-2.0
// underlap-viewer: windows, or pictures without one.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonObject>
#include <QPluginLoader>
#include <QSettings>
#include <QTemporaryDir>
#include <cstdlib>

#include "platform/atomic_file.hpp"
#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/memory_room.hpp"
#include "platform/text/output.hpp"
#include "viewer/app/main_window.hpp"
#include "viewer/app/render.hpp"
#include "viewer/app/viewer_settings.hpp"
#include "viewer/charts/write_chart.hpp"

namespace underlap::viewer {
namespace {

constexpr const char* kScaling = "scaling";  // the chart that a window opens with

struct Arguments {
  RenderRequest request;  // without range, size and theme; with no output, of a window
  std::string range;
  std::string size;
  std::string mode_map;
  bool dark = false;
  bool compare = false;
  bool window = false;
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

RenderRequest request_of(const Arguments& arguments) {
  RenderRequest request = arguments.request;
  if (!arguments.range.empty()) request.range = parse_range(arguments.range);
  if (!arguments.size.empty()) request.size = size_from(arguments.size);
  if (!arguments.mode_map.empty()) request.mode_map = attribution::read_mode_map(arguments.mode_map);
  if (arguments.dark) request.theme = &Theme::dark();
  return request;
}

void check(const Arguments& arguments) {
  const RenderRequest& request = arguments.request;
  const bool has_chart = !request.chart.empty() && request.chart != kScaling;
  const bool renders = !request.output.empty();
  if (!renders && (!arguments.range.empty() || has_chart || !arguments.size.empty() || !request.cell.empty()))
    throw std::invalid_argument(
        "--range, --chart, --cell and --size need --render FILE; in a window, Ctrl+H shows charts, and --chart scaling "
        "compares several runs");
  if (arguments.window && (!renders || !arguments.range.empty() || has_chart || !request.cell.empty()))
    throw std::invalid_argument("--window needs --render FILE.png, and takes no --range, --chart or --cell");
  if (arguments.compare && request.inputs.size() != 2)
    throw std::invalid_argument(
        fmt::format("--compare takes two traces or runs, the baseline first, not {}", request.inputs.size()));
  if (request.chart == kScaling && (request.inputs.empty() || arguments.compare))
    throw std::invalid_argument("--chart scaling takes run folders and cannot be used with --compare");
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whether the X server of DISPLAY answers libxcb. Then `kept` is a connection to it, whose deleter holds the library.
// Without the library Qt reports a failure.
bool x_answers(std::shared_ptr<void>& kept) {
  const std::shared_ptr<void> library(::dlopen("libxcb.so.1", RTLD_NOW), [](void* handle) {
    if (handle != nullptr) ::dlclose(handle);
  });
  if (!library) return true;
  const auto connect = reinterpret_cast<void* (*)(const char*, int*)>(::dlsym(library.get(), "xcb_connect"));
  const auto error = reinterpret_cast<int (*)(void*)>(::dlsym(library.get(), "xcb_connection_has_error"));
  const auto disconnect = reinterpret_cast<void (*)(void*)>(::dlsym(library.get(), "xcb_disconnect"));
  if (connect == nullptr || error == nullptr || disconnect == nullptr) return true;
  std::shared_ptr<void> connection(connect(nullptr, nullptr), [library, disconnect](void* open) { disconnect(open); });
  if (error(connection.get()) != 0) return false;
  kept = std::move(connection);
  return true;
}

std::string why_no_x(std::shared_ptr<void>& kept) {
  const std::string display = variable("DISPLAY");
  if (display.empty()) return "no display (DISPLAY is not set)";
  return x_answers(kept) ? "" : "display \"" + display + "\" does not respond";
}

// A compositor listens at a socket of the user's runtime folder.
std::string why_no_wayland() {
  if (!variable("WAYLAND_SOCKET").empty()) return "";
  std::string name = variable("WAYLAND_DISPLAY");
  if (name.empty()) return "no display (WAYLAND_DISPLAY is not set)";
  const std::string path = name.starts_with('/') ? name : variable("XDG_RUNTIME_DIR") + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return "WAYLAND_DISPLAY \"" + name + "\" is too long";
  std::strcpy(address.sun_path, path.c_str());
  const int end = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool answers = end >= 0 && ::connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (end >= 0) ::close(end);
  return answers ? "" : "Wayland display \"" + name + "\" does not respond";
}

// The platforms that Qt can draw on here, according to its plugins.
QStringList platforms() {
  // Without an application, Qt does not read the qt.conf next to the program.
  int argc = 1;
  char name[] = "underlap-viewer";
  char* argv[] = {name, nullptr};
  const QCoreApplication application(argc, argv);
  QStringList names;
  QStringList folders = QCoreApplication::libraryPaths();
  for (QString& folder : folders) folder += "/platforms";
  folders << qEnvironmentVariable("QT_QPA_PLATFORM_PLUGIN_PATH").split(':', Qt::SkipEmptyParts);
  for (const QString& folder : folders)
    for (const QString& file : QDir(folder).entryList(QDir::Files))
      for (const QJsonValue& key :
           QPluginLoader(folder + "/" + file).metaData()["MetaData"].toObject()["Keys"].toArray())
        names << key.toString();
  names.removeDuplicates();
  names.sort();
  return names;
}

std::string why_not_on(const QString& platform, std::shared_ptr<void>& kept) {
  if (const QStringList all = platforms(); !all.contains(platform))
    return fmt::format("QT_QPA_PLATFORM is \"{}\", but Qt has no plugin for it here; available: {}",
                       platform.toStdString(), all.join(", ").toStdString());
  if (platform == "xcb") return why_no_x(kept);
  return platform.startsWith("wayland") ? why_no_wayland() : "";
}

// Why no window can be shown; empty where one can. Qt takes the first platform of its list that it can; with none it
// aborts without a word that helps.
//
// connection  if windows can be shown on an X server, a connection to it. It must outlive the start of the
//             application: a server resets when its last client leaves, and refuses the next client meanwhile
std::string why_no_display(std::shared_ptr<void>& connection) {
  const QString asked = qEnvironmentVariable("QT_QPA_PLATFORM");
  if (asked.isEmpty()) {
    if (variable("DISPLAY").empty() && variable("WAYLAND_DISPLAY").empty())
      return "no display (neither DISPLAY nor WAYLAND_DISPLAY is set)";
    if (!variable("WAYLAND_DISPLAY").empty() && why_not_on("wayland", connection).empty()) return "";
    return variable("DISPLAY").empty() ? why_not_on("wayland", connection) : why_not_on("xcb", connection);
  }
  std::string why;
  for (const QString& platform : asked.split(';', Qt::SkipEmptyParts)) {
    const std::string not_on_this = why_not_on(platform.section(':', 0, 0), connection);
    if (not_on_this.empty()) return "";
    if (why.empty()) why = not_on_this;
  }
  return why;
}

// Drops warnings that users of the viewer cannot fix: about XDG_RUNTIME_DIR, which nothing needs, and about windows
// that are drawn without a screen.
void pass_on(QtMsgType, const QMessageLogContext&, const QString& message) {
  if (!message.startsWith("QStandardPaths: XDG_RUNTIME_DIR") && !message.startsWith("This plugin does not support"))
    print_error("{}\n", message.toStdString());
}

void open_inputs(MainWindow& window, const Arguments& arguments) {
  QStringList inputs;
  for (const std::string& input : arguments.request.inputs) inputs << QString::fromStdString(input);
  if (!arguments.mode_map.empty()) {
    // Refuses a wrong file now: a window would open the traces without it.
    attribution::read_mode_map(arguments.mode_map);
    for (const QString& input : inputs)
      keep_mode_map(input, QFileInfo(QString::fromStdString(arguments.mode_map)).absoluteFilePath());
  }
  if (!arguments.request.chart.empty())
    window.scale(inputs, arguments.request.is_forced);
  else if (arguments.compare)
    window.compare(inputs[0], inputs[1], arguments.request.is_forced);
  else
    for (const QString& input : inputs) window.open(input);
}

int show(int& argc, char** argv, const Arguments& arguments) {
  std::shared_ptr<void> connection;
  if (const std::string why = why_no_display(connection); !why.empty()) {
    print_error("underlap-viewer: {}\n  --render out.png renders a picture without a display\n", why);
    return kBadInput;
  }
  QApplication application(argc, argv);
  QApplication::setApplicationName("Underlap");
  MainWindow window;
  if (arguments.dark) window.set_dark(true);
  window.show();
  open_inputs(window, arguments);
  return QApplication::exec();
}

// A picture of the window. It neither reads nor changes what the viewer keeps of this user.
int render_window(int& argc, char** argv, const Arguments& arguments) {
  const RenderRequest& request = arguments.request;
  ::setenv("QT_SCALE_FACTOR", fmt::format("{}", request.scale).c_str(), 1);
  QApplication application(argc, argv);
  const QTemporaryDir settings;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  MainWindow window;
  window.set_dark(arguments.dark);
  window.resize(arguments.size.empty() ? QSize(1280, 860) : size_from(arguments.size));
  window.show();
  open_inputs(window, arguments);
  while (window.is_loading()) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  if (!window.last_error().isEmpty()) throw std::invalid_argument(window.last_error().toStdString());
  QApplication::processEvents();
  write_file_atomically(request.output, png_of(window.grab().toImage()));
  return kOk;
}

int run(int& argc, char** argv, const Arguments& arguments) {
  check(arguments);
  qInstallMessageHandler(pass_on);
  if (arguments.request.output.empty()) return show(argc, argv, arguments);
  ::setenv("QT_QPA_PLATFORM", "offscreen", 1);  // overrides the desktop's setting: a picture needs no screen
  if (arguments.window) return render_window(argc, argv, arguments);
  QApplication application(argc, argv);
  render(request_of(arguments));
  return kOk;
}

void add_options(CLI::App& app, Arguments& arguments) {
  RenderRequest& request = arguments.request;
  app.add_option("PATH", request.inputs,
                 "traces, trace folders, run folders, or the output of `underlap gate --json`; one tab each");
  app.add_flag("--compare", arguments.compare,
               "compare two traces side by side, baseline first; for two runs, show the gate's verdicts");
  app.add_option("--render", request.output,
                 "render a picture instead of opening a window: FILE.png or FILE.svg; FILE.csv for a chart");
  app.add_option("--range", arguments.range,
                 "with --render: time range, 12ms..18ms, \"step 3\" or all (default: all, or only the first block)");
  app.add_option("--chart", request.chart,
                 "with --render: a chart instead of the timeline: modes, steps, change, matrix, bandwidth, gate or "
                 "scaling (of several runs; also in a window)");
  app.add_option("--cell", request.cell,
                 "with --render of one or two runs: the cell whose timeline, chart or change is drawn");
  app.add_option("--mode-map", arguments.mode_map,
                 "assign modes by this file, described by `underlap help mode-map`; a window keeps it for the traces")
      ->check(CLI::ExistingFile);
  app.add_option("--size", arguments.size, "with --render: size in pixels, 1600x900 (default: as high as the content)");
  app.add_option("--scale", request.scale, "with --render: scale factor of the picture")
      ->check(CLI::Range(0.5, 8.0))
      ->capture_default_str();
  app.add_flag("--window", arguments.window, "with --render: draw the whole window with its tables and panels");
  app.add_flag("--dark", arguments.dark, "dark colors");
  app.add_flag("--force", request.is_forced, "compare even if the two sides did different work");
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
