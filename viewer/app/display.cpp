// SPDX-License-Identifier: Apache-2.0
#include "viewer/app/display.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

namespace underlap::viewer {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whether the X server of DISPLAY answers, as libxcb tells; true where that library is not here, and Qt will say.
bool answers_x() {
  const std::unique_ptr<void, int (*)(void*)> library(::dlopen("libxcb.so.1", RTLD_NOW), ::dlclose);
  if (!library) return true;
  const auto connect = reinterpret_cast<void* (*)(const char*, int*)>(::dlsym(library.get(), "xcb_connect"));
  const auto error = reinterpret_cast<int (*)(void*)>(::dlsym(library.get(), "xcb_connection_has_error"));
  const auto disconnect = reinterpret_cast<void (*)(void*)>(::dlsym(library.get(), "xcb_disconnect"));
  if (connect == nullptr || error == nullptr || disconnect == nullptr) return true;
  void* connection = connect(nullptr, nullptr);
  const bool is_well = error(connection) == 0;
  disconnect(connection);
  return is_well;
}

}  // namespace

std::string why_no_display() {
  if (!variable("QT_QPA_PLATFORM").empty() || !variable("WAYLAND_DISPLAY").empty()) return "";
  const std::string display = variable("DISPLAY");
  if (display.empty()) return "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)";
  return answers_x() ? "" : "display \"" + display + "\" does not answer";
}

}  // namespace underlap::viewer
