// SPDX-License-Identifier: Apache-2.0
#include "platform/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

namespace underlap {

int terminal_width(int file) {
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  return columns != nullptr && std::atoi(columns) > 0 ? std::atoi(columns) : std::numeric_limits<int>::max();
}

TableFormat terminal_format(int file) {
  return {.width = terminal_width(file), .colour = isatty(file) != 0, .unicode = false};
}

}  // namespace underlap
