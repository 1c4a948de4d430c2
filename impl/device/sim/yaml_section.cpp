// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/yaml_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "platform/suggestion.hpp"

namespace underlap::sim {
namespace {

std::string in_words(const Range& range) {
  const auto kind = range.whole ? "a whole number" : "a number";
  if (range.high >= Range{}.high)
    return fmt::format("{} {}{:g}{}", kind, range.above_low ? "above " : "of ", range.low,
                       range.above_low ? "" : " or more");
  return fmt::format("{} {} {:g} {} {:g}", kind, range.above_low ? "above" : "from", range.low,
                     range.above_low ? "and at most" : "to", range.high);
}

bool allows(const Range& range, double value) {
  const bool low_enough = value >= range.low && value <= range.high && !(range.above_low && value == range.low);
  return low_enough && !(range.whole && value != std::trunc(value));
}

}  // namespace

std::optional<double> read_number(const yaml::Node& node, std::string_view what, const Range& range,
                                  yaml::Problems& problems) {
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  const bool is_number = node.kind == yaml::Node::Kind::scalar && !node.is_quoted && [&] {
    const auto [stop, error] = std::from_chars(node.text.data(), end, value);
    return error == std::errc() && stop == end;
  }();
  if (is_number && allows(range, value)) return value;
  problems.add(node.place, fmt::format("{} is {}, must be {}", what, yaml::describe(node), in_words(range)));
  return std::nullopt;
}

std::optional<std::string> read_text(const yaml::Node& node, std::string_view what, yaml::Problems& problems) {
  if (node.kind == yaml::Node::Kind::scalar && !node.text.empty()) return node.text;
  problems.add(node.place, fmt::format("{} is {}, must be text", what, yaml::describe(node)));
  return std::nullopt;
}

std::vector<const yaml::Node*> read_list(const yaml::Node& node, std::string_view what, yaml::Problems& problems) {
  if (node.kind == yaml::Node::Kind::sequence && !node.items.empty()) return node.items;
  problems.add(node.place, fmt::format("{} must be a list with at least one item", what));
  return {};
}

Section::Section(const yaml::Node& node, std::string_view what, yaml::Problems& problems)
    : node_(node), what_(what), problems_(problems) {
  if (node.kind != yaml::Node::Kind::mapping)
    problems_.add(node.place, fmt::format("{} is {}, must be a mapping", what_, yaml::describe(node)));
}

const yaml::Node* Section::find(std::string_view key) {
  asked_.push_back(key);
  const auto found =
      std::find_if(node_.entries.begin(), node_.entries.end(), [key](const auto& entry) { return entry.key == key; });
  return found == node_.entries.end() ? nullptr : found->value;
}

const yaml::Node* Section::get(std::string_view key) {
  const yaml::Node* value = find(key);
  if (value == nullptr && node_.kind == yaml::Node::Kind::mapping)
    problems_.add(node_.place, fmt::format("{} has no {}", what_, key));
  return value;
}

void Section::finish() const {
  for (const yaml::Entry& entry : node_.entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) != asked_.end()) continue;
    problems_.add(entry.place, fmt::format("unknown key {} in {}{}", yaml::in_quotes(entry.key), what_,
                                           did_you_mean(entry.key, asked_)));
  }
}

}  // namespace underlap::sim
