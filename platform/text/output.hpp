// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

// All output of the programs. Names from files may be in it, so text for people is written by laid_out_text().
namespace underlap {

/// Writes text for people to standard output, in color on a terminal that has colors. Throws std::system_error where
/// it cannot be written.
void print_text(std::string_view text);

template <class... Arguments>
void print_text(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(std::string_view(fmt::format(format, std::forward<Arguments>(arguments)...)));
}

/// The same on standard error. Where that cannot be written, nothing happens.
void print_error(std::string_view text) noexcept;

template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_error(std::string_view(fmt::format(format, std::forward<Arguments>(arguments)...)));
}

/// Writes data for another program (JSON, CSV, HTML, a script, annotations) to standard output, byte by byte. The
/// caller has escaped it.
void print_data(std::string_view data);

}  // namespace underlap
