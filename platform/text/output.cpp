// SPDX-License-Identifier: Apache-2.0
#include "platform/text/output.hpp"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include "platform/terminal.hpp"
#include "platform/text/escape.hpp"

namespace underlap {
namespace {

std::string shown(std::string_view text, int file) {
  return laid_out_text(text, terminal_format(file).color ? Colors::kept : Colors::removed);
}

}  // namespace

void print_text(std::string_view text) { print_data(shown(text, STDOUT_FILENO)); }

void print_error(std::string_view text) noexcept try {
  const std::string safe = shown(text, STDERR_FILENO);
  std::fwrite(safe.data(), 1, safe.size(), stderr);
} catch (const std::exception&) {  // no memory for a message is no reason to end
}

void print_data(std::string_view data) { fmt::print("{}", data); }

}  // namespace underlap
