// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/name_patterns.hpp"

#include <cstddef>

namespace underlap::attribution {

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_kernel(std::string_view patterns, std::string_view kernel, std::string_view qualified) {
  const std::size_t scope = qualified.rfind("::");
  const std::string_view last = scope == std::string_view::npos ? qualified : qualified.substr(scope + 2);
  return any_alternative(patterns, [&](std::string_view pattern) {
    if (pattern.starts_with("::")) return scope == std::string_view::npos && matches(pattern.substr(2), qualified);
    return matches(pattern, kernel) || matches(pattern, qualified) ||
           (pattern.find("::") == std::string_view::npos && matches(pattern, last));
  });
}

}  // namespace underlap::attribution
