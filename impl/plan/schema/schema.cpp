// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/schema/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "impl/plan/schema/paths.hpp"
#include "platform/suggestion.hpp"
#include "platform/text/digits.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {
namespace {

struct Index {
  std::unordered_map<std::string_view, std::size_t> row_of;
  std::unordered_set<std::string_view> sections;
  std::vector<std::string_view> paths;

  Index() {
    for (std::size_t i = 0; i < rows().size(); ++i) {
      add(rows()[i].path, i);
      for (const std::string_view spelling : split_words(rows()[i].spellings)) add(spelling, i);
    }
  }
  void add(std::string_view path, std::size_t row) {
    row_of.emplace(path, row);
    paths.push_back(path);
    for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
      sections.insert(path.substr(0, dot));
  }
};

const Index& index() {
  static const Index instance;
  return instance;
}

std::vector<std::string_view> choices_of(const Row& row) {
  return row.registered != nullptr ? row.registered() : split_words(row.choices);
}

Value any_value(const Node& node);

std::optional<bool> read_bool(const Node& node) {
  if (node.kind != Node::Kind::scalar || node.is_quoted) return std::nullopt;
  for (const std::string_view word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
    if (node.text == word) return true;
  for (const std::string_view word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
    if (node.text == word) return false;
  return std::nullopt;
}

template <class Number>
std::optional<Number> read_number(const Node& node) {
  if (node.kind != Node::Kind::scalar || node.is_quoted || node.text.empty()) return std::nullopt;
  std::string_view text = node.text;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return parse_number<Number>(text);
}

bool in_range(const Range& range, double number) {
  return std::isfinite(number) && number <= range.most && (range.open ? number > range.least : number >= range.least);
}

/// One of the row's words. NeMo's names have hyphens where Bridge's have underscores, and Bridge takes both.
std::optional<Value> read_choice(const Row& row, const Node& node) {
  if (node.kind != Node::Kind::scalar) return std::nullopt;
  const auto choices = choices_of(row);
  std::string with_underscores = node.text;
  std::replace(with_underscores.begin(), with_underscores.end(), '-', '_');
  for (const std::string& word : {node.text, with_underscores})
    if (std::ranges::find(choices, word) != choices.end()) return word;
  return std::nullopt;
}

std::optional<Value> read_scalar(const Row& row, const Node& node) {
  switch (row.type) {
    case Type::boolean:
      if (const auto flag = read_bool(node)) return *flag;
      return read_choice(row, node);
    case Type::integer:
      if (const auto number = read_number<std::int64_t>(node); number && in_range(row.range, double(*number)))
        return *number;
      return std::nullopt;
    case Type::number:
      if (const auto number = read_number<double>(node); number && in_range(row.range, *number)) return *number;
      return std::nullopt;
    case Type::text:
      if (node.kind == Node::Kind::scalar && choices_of(row).empty()) return node.text;
      return read_choice(row, node);
    case Type::any: return any_value(node);
  }
  return std::nullopt;
}

/// The value that `node` looks like; mappings have their keys in the order of the alphabet.
Value any_value(const Node& node) {
  if (const auto flag = read_bool(node)) return *flag;
  if (const auto number = read_number<std::int64_t>(node)) return *number;
  if (const auto number = read_number<double>(node); number && std::isfinite(*number)) return *number;
  switch (node.kind) {
    case Node::Kind::null: return {};
    case Node::Kind::scalar: return node.text;
    case Node::Kind::sequence: {
      ValueList list;
      for (const Node* item : node.items) list.push_back(any_value(*item));
      return list;
    }
    case Node::Kind::mapping: break;
  }
  ValueMapping mapping;
  for (const Entry& entry : node.entries) mapping.emplace_back(entry.key, any_value(*entry.value));
  std::ranges::sort(mapping, [](const auto& a, const auto& b) { return a.first < b.first; });
  return mapping;
}

/// How many nodes `node` would be with its aliases written out, counted up to `limit`.
std::size_t expanded_size(const Node& node, std::size_t limit) {
  std::size_t size = 1;
  for (const Node* item : node.items)
    if (size < limit) size += expanded_size(*item, limit - size);
  for (const Entry& entry : node.entries)
    if (size < limit) size += expanded_size(*entry.value, limit - size);
  return size;
}

std::string range_words(const Range& range) {
  const bool has_least = std::isfinite(range.least);
  if (has_least && std::isfinite(range.most))
    return fmt::format(" {} {} {} {}", range.open ? "above" : "from", range.least, range.open ? "up to" : "to",
                       range.most);
  if (has_least) return fmt::format(" {} {}", range.open ? "above" : "of at least", range.least);
  return "";
}

}  // namespace

const Value& fallback(std::size_t row) {
  static const std::vector<Value> instance = [] {
    std::vector<Value> values;
    for (const Row& each : rows()) {
      Problems problems("the table of knobs", {});
      const Document document = read_document(std::string(each.fallback), problems);
      values.push_back(document.root == nullptr ? Value() : read_value(each, *document.root, problems).value());
    }
    return values;
  }();
  return instance[row];
}

std::optional<std::size_t> find_row(std::string_view path) {
  const auto found = index().row_of.find(path);
  return found == index().row_of.end() ? std::nullopt : std::optional(found->second);
}

bool is_section(std::string_view path) { return index().sections.contains(path); }

const std::vector<std::string_view>& all_paths() { return index().paths; }

namespace {

/// Of a key in the wrong section whose last word is not quite right either.
std::string elsewhere_by_another_name(std::string_view word) {
  std::vector<std::string_view> names;
  for (const std::string_view path : all_paths()) names.push_back(last_component(path));
  const auto near = suggestions(word, names);
  if (near.empty()) return "; underlap list knobs shows every key";
  const auto found =
      std::ranges::find_if(all_paths(), [&](std::string_view path) { return last_component(path) == near.front(); });
  return fmt::format("; did you mean {}?", *found);
}

}  // namespace

std::string suggestion(std::string_view path) {
  const std::string_view word = last_component(path);
  const std::string_view section = path.substr(0, path.size() - word.size());
  std::vector<std::string_view> siblings;
  std::string elsewhere;
  for (const std::string_view candidate : all_paths()) {
    if (candidate.starts_with(section)) siblings.push_back(candidate.substr(section.size()));
    if (last_component(candidate) == word) elsewhere += (elsewhere.empty() ? "" : " or ") + std::string(candidate);
  }
  if (section.empty())
    for (const std::string_view name : index().sections) siblings.push_back(name);
  if (!elsewhere.empty()) return fmt::format("; it belongs at {}", elsewhere);
  if (std::string suggestion = did_you_mean(word, siblings, section); !suggestion.empty()) return suggestion;
  if (std::string suggestion = did_you_mean(path, all_paths()); !suggestion.empty()) return suggestion;
  return elsewhere_by_another_name(word);
}

bool is_used_by(const Row& row, Backend backend) {
  const auto backends = split_words(row.backends);
  return backends.empty() || std::ranges::find(backends, to_string(backend)) != backends.end();
}

std::string expectation(const Row& row) {
  switch (row.type) {
    case Type::boolean:
      if (choices_of(row).empty()) return "true or false";
      return fmt::format("true, false or {}", fmt::join(choices_of(row), " or "));
    case Type::integer: return fmt::format("a whole number{}", range_words(row.range));
    case Type::number: return fmt::format("a finite number{}", range_words(row.range));
    case Type::text:
      if (choices_of(row).empty()) return "text";
      return fmt::format("one of {}", fmt::join(choices_of(row), ", "));
    case Type::any: return "a value, a list or a mapping";
  }
  return "";
}

std::optional<Value> read_value(const Row& row, const Node& node, Problems& problems) {
  constexpr std::size_t kLargest = 1000;
  if (node.kind == Node::Kind::null) return Value();
  if (expanded_size(node, kLargest) >= kLargest) {
    problems.add(node.place, fmt::format("{} holds more than {} values; shorten it", row.path, kLargest));
    return std::nullopt;
  }
  auto value = read_scalar(row, node);
  if (!value) {
    std::string hint;
    if (row.type == Type::text && node.kind == Node::Kind::scalar) hint = did_you_mean(node.text, choices_of(row));
    problems.add(node.place, fmt::format("{} must be {}, or null for the default, not {}{}", row.path, expectation(row),
                                         describe(node), hint));
  }
  return value;
}

std::vector<KnobInfo> known_knobs() {
  const auto words_of = [](const Row& row) -> std::vector<std::string> {
    const auto choices = choices_of(row);
    std::vector<std::string> words(choices.begin(), choices.end());
    if (row.type == Type::boolean) words.insert(words.begin(), {"true", "false"});
    return words;
  };
  constexpr EnumNames<Status, 3> kStatusNames{{"honoured", "planned", "known"}};
  std::vector<KnobInfo> knobs;
  for (const Row& row : rows()) {
    const auto spellings = split_words(row.spellings);
    const auto backends = split_words(row.backends);
    knobs.push_back({std::string(row.path),
                     {spellings.begin(), spellings.end()},
                     expectation(row),
                     words_of(row),
                     std::string(row.rule),
                     std::string(row.about),
                     std::string(kStatusNames[row.status]),
                     {backends.begin(), backends.end()}});
  }
  return knobs;
}

}  // namespace underlap::plan
