// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/schema/known_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "impl/plan/schema/schema.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {
namespace {

constexpr EnumNames<Type, 5> kTypes{{"boolean", "integer", "number", "text", "any"}};
constexpr EnumNames<Scope, 8> kScopes{{"always", "dp", "tp", "pp", "cp", "fp8", "moe", "fsdp"}};

/// The table is the program's own: what is wrong with it is our own bug.
[[noreturn]] void fail(const Node& node, std::string_view why) {
  throw std::logic_error(fmt::format("known_knobs.yaml:{}: {}", node.place.line, why));
}

double number_of(const Node& node) {
  double value = 0;
  const char* const end = node.text.data() + node.text.size();
  if (std::from_chars(node.text.data(), end, value).ptr != end) fail(node, "no number");
  return value;
}

template <class Enum, std::size_t kCount>
Enum word(const EnumNames<Enum, kCount>& names, const Node& node) {
  const auto found = names.find(node.text);
  if (!found) fail(node, "unknown word");
  return *found;
}

/// Its texts are views of `node`, which outlives it.
Row read_row(const Node& node) {
  constexpr std::pair<std::string_view, std::string_view Row::*> kTexts[] = {
      {"key", &Row::path},  {"spellings", &Row::spellings}, {"fallback", &Row::fallback}, {"choices", &Row::choices},
      {"rule", &Row::rule}, {"about", &Row::about},         {"lacks", &Row::lacks}};
  Row row{.fallback = "null"};
  for (const Entry& entry : node.entries) {
    const Node& value = *entry.value;
    const auto* text =
        std::find_if(std::begin(kTexts), std::end(kTexts), [&](const auto& t) { return t.first == entry.key; });
    if (text != std::end(kTexts))
      row.*text->second = value.text;
    else if (entry.key == "type")
      row.type = word(kTypes, value);
    else if (entry.key == "scope")
      row.scope = word(kScopes, value);
    else if (entry.key == "listed")
      row.listed = value.text == "true";
    else if (entry.key == "least")
      row.range.least = number_of(value);
    else if (entry.key == "most")
      row.range.most = number_of(value);
    else
      fail(value, "unknown field");
  }
  return row;
}

}  // namespace

std::span<const KnownRows> known_rows() {
  static const Document document = [] {
    Problems problems("known_knobs.yaml", {});
    Document read = read_document(std::string(known_knobs_text()), problems);
    for (const Message& problem : problems.messages()) throw std::logic_error(problem.where + ": " + problem.message);
    return read;
  }();
  static const std::vector<KnownRows> groups = [] {
    std::vector<KnownRows> all;
    for (const Node* group : document.root->items) {
      KnownRows& rows = all.emplace_back(KnownRows{find_entry(*group, "after")->value->text, {}});
      for (const Node* node : find_entry(*group, "keys")->value->items) rows.rows.push_back(read_row(*node));
    }
    return all;
  }();
  return groups;
}

}  // namespace underlap::plan
