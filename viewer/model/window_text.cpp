// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/window_text.hpp"

#include <regex>
#include <sstream>

namespace underlap::viewer {
namespace {

bool has_option(const std::string& text) {
  static const std::regex option(R"((^|[\s`(])--[a-z])");
  return std::regex_search(text, option);
}

// Only innermost parentheses: those around others hold more than advice.
std::string without_advice(const std::string& line) {
  static const std::regex parentheses(R"( ?\([^()]*\))");
  std::string kept;
  std::string::const_iterator rest = line.begin();
  for (std::sregex_iterator found(line.begin(), line.end(), parentheses), none; found != none; ++found) {
    kept.append(rest, line.begin() + found->position());
    rest = line.begin() + found->position() + found->length();
    if (!has_option(found->str())) kept += found->str();
  }
  return kept.append(rest, line.end());
}

}  // namespace

std::string window_text(const std::string& message) {
  std::istringstream lines(message);
  std::string text;
  bool is_first = true;
  for (std::string line; std::getline(lines, line); is_first = false) {
    const std::string kept = without_advice(line);
    if (!is_first && has_option(kept)) continue;
    text += (is_first ? "" : "\n") + kept;
  }
  return text;
}

}  // namespace underlap::viewer
