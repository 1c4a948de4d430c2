// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/kernel_name.hpp"

#include <cxxabi.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace underlap {
namespace {

std::string demangled(std::string_view name) {
  std::string text(name);
  if (!name.starts_with("_Z")) return text;
  struct Free {
    void operator()(char* c) const { std::free(c); }  // NOLINT: it comes from malloc
  };
  int status = 0;
  const std::unique_ptr<char, Free> plain(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status));
  return status == 0 && plain ? std::string(plain.get()) : text;
}

bool ends_with_operator(std::string_view text) {
  constexpr std::string_view kOperator = "operator";
  if (!text.ends_with(kOperator)) return false;
  const std::string_view before = text.substr(0, text.size() - kOperator.size());
  return before.empty() || before.ends_with(':');
}

// The namespaces without a name, as compilers and tools write them.
std::size_t unnamed_namespace(std::string_view text) {
  constexpr std::array<std::string_view, 4> kUnnamed{
      "(anonymous namespace)::", "<unnamed>::", "{anonymous}::", "_GLOBAL__N_"};
  for (const std::string_view unnamed : kUnnamed) {
    if (!text.starts_with(unnamed)) continue;
    if (unnamed.ends_with(':')) return unnamed.size();
    const std::size_t end = text.find("::");
    return end == std::string_view::npos ? 0 : end + 2;
  }
  return 0;
}

// The position after the bracket that closes the first one of `text`; the end of `text` without such a bracket. Between
// round brackets < and > may be comparisons and arrows, so they are ignored there.
std::size_t past_brackets(std::string_view text) {
  std::string open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_angle_bracket = open.empty() || open.back() == '<';
    if (c == '(' || c == '{' || c == '[' || (c == '<' && is_angle_bracket)) open += c;
    if (c == ')' || c == '}' || c == ']' || (c == '>' && is_angle_bracket)) open.pop_back();
    if (open.empty()) return i + 1;
  }
  return text.size();
}

}  // namespace

std::string qualified_name(std::string_view kernel) {
  const std::string text = demangled(kernel);
  std::string_view rest = text;
  std::string name;
  while (!rest.empty()) {
    if (const std::size_t skipped = unnamed_namespace(rest); skipped > 0) {
      rest.remove_prefix(skipped);
    } else if (rest.front() == '(' && ends_with_operator(name)) {
      name += "()";
      rest.remove_prefix(past_brackets(rest));
    } else if (rest.front() == '(' && !name.empty()) {
      rest.remove_prefix(past_brackets(rest));
      if (!rest.starts_with("::")) break;
    } else if (rest.front() == '<' || rest.front() == '(' || rest.front() == '{') {
      rest.remove_prefix(past_brackets(rest));
    } else if (rest.front() == ' ') {
      // What stood before was a return type, except before parameters and before "[clone]".
      rest.remove_prefix(1);
      if (rest.starts_with('[')) break;
      if (!rest.empty() && (rest.front() != '(' || unnamed_namespace(rest) > 0)) name.clear();
    } else {
      name += rest.front();
      rest.remove_prefix(1);
    }
  }
  while (name.starts_with("::")) name.erase(0, 2);
  if (name.ends_with(".kd")) name.resize(name.size() - 3);  // AMD's kernel descriptor
  return name;
}

std::string short_work_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWithSpaces{"Memcpy", "Memset", "CUDA graph", "[CUDA"};
  for (const std::string_view begin : kWithSpaces)
    if (name.starts_with(begin)) return std::string(name.substr(0, name.find(" (")));
  return qualified_name(name);
}

}  // namespace underlap
