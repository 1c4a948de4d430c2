// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/display.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QDir>
#include <QJsonArray>
#include <QJsonObject>
#include <QPluginLoader>
#include <cstdlib>
#include <utility>

namespace underlap::viewer {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A connection to the X server of DISPLAY, by libxcb.
struct XConnection {
  std::shared_ptr<void> connection;  ///< none where the server does not answer, or the library is not here
  bool answers = true;               ///< without the library Qt reports a failure
};

XConnection connect_to_x() {
  const std::shared_ptr<void> library(::dlopen("libxcb.so.1", RTLD_NOW), [](void* handle) {
    if (handle != nullptr) ::dlclose(handle);
  });
  if (!library) return {};
  const auto connect = reinterpret_cast<void* (*)(const char*, int*)>(::dlsym(library.get(), "xcb_connect"));
  const auto error = reinterpret_cast<int (*)(void*)>(::dlsym(library.get(), "xcb_connection_has_error"));
  const auto disconnect = reinterpret_cast<void (*)(void*)>(::dlsym(library.get(), "xcb_disconnect"));
  if (connect == nullptr || error == nullptr || disconnect == nullptr) return {};
  std::shared_ptr<void> connection(connect(nullptr, nullptr), [library, disconnect](void* open) { disconnect(open); });
  if (error(connection.get()) != 0) return {.connection = nullptr, .answers = false};
  return {.connection = std::move(connection), .answers = true};
}

std::string why_no_x(std::shared_ptr<void>& kept) {
  const std::string display = variable("DISPLAY");
  if (display.empty()) return "no display (DISPLAY is not set)";
  XConnection x = connect_to_x();
  kept = std::move(x.connection);
  return x.answers ? "" : "display \"" + display + "\" does not respond";
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

// Qt takes the first platform of the list that it can; with none it aborts.
std::string why_no_display(std::shared_ptr<void>& kept) {
  const QString asked = qEnvironmentVariable("QT_QPA_PLATFORM");
  if (asked.isEmpty()) {
    if (variable("DISPLAY").empty() && variable("WAYLAND_DISPLAY").empty())
      return "no display (neither DISPLAY nor WAYLAND_DISPLAY is set)";
    if (!variable("WAYLAND_DISPLAY").empty() && why_not_on("wayland", kept).empty()) return "";
    return variable("DISPLAY").empty() ? why_not_on("wayland", kept) : why_not_on("xcb", kept);
  }
  std::string why;
  for (const QString& platform : asked.split(';', Qt::SkipEmptyParts)) {
    const std::string not_on_this = why_not_on(platform.section(':', 0, 0), kept);
    if (not_on_this.empty()) return "";
    if (why.empty()) why = not_on_this;
  }
  return why;
}

}  // namespace

DisplayProbe::DisplayProbe() : why_not_(why_no_display(connection_)) {}

}  // namespace underlap::viewer
