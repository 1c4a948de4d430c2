// SPDX-License-Identifier: Apache-2.0
#include "platform/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace underlap {
namespace {

// "" where it is not set.
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int terminal_width(int file) {
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  return columns != nullptr && std::atoi(columns) > 0 ? std::atoi(columns) : std::numeric_limits<int>::max();
}

bool rewrites_lines(int file) { return isatty(file) != 0 && variable("TERM") != "dumb"; }

TableFormat terminal_format(int file) {
  return {
      .width = terminal_width(file), .color = rewrites_lines(file) && variable("NO_COLOR").empty(), .unicode = false};
}

}  // namespace underlap
