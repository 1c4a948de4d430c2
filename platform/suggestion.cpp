// SPDX-License-Identifier: Apache-2.0
#include "platform/suggestion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <utility>

namespace underlap {
namespace {

constexpr std::size_t kMost = 4;
constexpr std::size_t kLongest = 80;  // longer than any name: not a slip, and the distance costs its square

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string plain(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Insertions, deletions, replacements and swaps of neighbors that make `b` of `a` (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row.back();
}

/// The text between underscores, dots, slashes and blanks; a dot between digits belongs to a version.
std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool is_version =
        i > 0 && i + 1 < name.size() && name[i] == '.' && is_digit(name[i - 1]) && is_digit(name[i + 1]);
    if (i < name.size() && (is_version || std::string_view("_. /").find(name[i]) == std::string_view::npos)) continue;
    if (i > begin) parts.push_back(name.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

/// The number of parts that `name` has in addition to those of `word`. nullopt unless `name` has all parts of `word` in
/// their order.
std::optional<std::size_t> more_parts(const std::vector<std::string_view>& word,
                                      const std::vector<std::string_view>& name) {
  std::size_t found = 0;
  for (const std::string_view part : name)
    if (found < word.size() && part == word[found]) ++found;
  if (word.empty() || found < word.size()) return std::nullopt;
  return name.size() - word.size();
}

/// The names with the smallest cost; a name without one is not closest.
template <class CostOf>
std::vector<std::size_t> cheapest(const std::vector<std::string>& names, CostOf cost_of) {
  std::vector<std::size_t> best;
  std::size_t least = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<std::size_t> cost = cost_of(names[i]);
    if (!cost || (!best.empty() && *cost > least)) continue;
    if (!best.empty() && *cost < least) best.clear();
    least = *cost;
    best.push_back(i);
  }
  return best;
}

std::vector<std::size_t> closest(const std::string& word, const std::vector<std::string>& names) {
  const auto by_distance = [&](std::size_t most) {
    return cheapest(names, [&](const std::string& name) -> std::optional<std::size_t> {
      const std::size_t distance = edit_distance(word, name);
      if (distance > most || distance >= name.size()) return std::nullopt;
      return distance;
    });
  };
  if (auto found = by_distance(1); !found.empty()) return found;
  const auto parts = parts_of(word);
  if (auto found = cheapest(names, [&](const std::string& name) { return more_parts(parts, parts_of(name)); });
      !found.empty())
    return found;
  const auto begins = [&](const std::string& name) {
    return word.size() > 1 && name.starts_with(word) ? std::optional<std::size_t>(0) : std::nullopt;
  };
  if (auto found = cheapest(names, begins); !found.empty()) return found;
  return by_distance(std::max<std::size_t>(2, word.size() / 3));
}

template <class Text>
std::vector<std::string_view> suggested(std::string_view word, const std::vector<Text>& candidates) {
  if (word.empty() || word.size() > kLongest) return {};
  std::vector<std::string> names;
  for (const Text& candidate : candidates) names.push_back(plain(candidate));
  std::vector<std::string_view> found;
  for (const std::size_t i : closest(plain(word), names)) found.emplace_back(candidates[i]);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > kMost) found.resize(kMost);
  return found;
}

std::string question(const std::vector<std::string_view>& found, std::string_view before) {
  std::string names;
  for (const std::string_view name : found) names += fmt::format("{}{}{}", names.empty() ? "" : " or ", before, name);
  return names.empty() ? "" : fmt::format("; did you mean {}?", names);
}

}  // namespace

std::vector<std::string_view> suggestions(std::string_view word, const std::vector<std::string_view>& candidates) {
  return suggested(word, candidates);
}

std::vector<std::string_view> suggestions(std::string_view word, const std::vector<std::string>& candidates) {
  return suggested(word, candidates);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates,
                         std::string_view before) {
  return question(suggestions(word, candidates), before);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates, std::string_view before) {
  return question(suggestions(word, candidates), before);
}

}  // namespace underlap
