// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "impl/plan/value_json.hpp"

namespace underlap::plan {
namespace {

using Tree = nlohmann::ordered_json;

/// Beyond this many a number is written with an exponent.
constexpr double kMostDigits = 1e16;

struct ToTree {
  Tree operator()(std::monostate) const { return nullptr; }
  Tree operator()(double number) const {
    if (std::abs(number) < kMostDigits && std::trunc(number) == number) return static_cast<std::int64_t>(number);
    return number;
  }
  Tree operator()(const ValueList& list) const {
    Tree tree = Tree::array();
    for (const Value& item : list) tree.push_back(to_json_tree(item));
    return tree;
  }
  Tree operator()(const ValueMapping& mapping) const {
    Tree tree = Tree::object();
    for (const auto& [key, item] : mapping) tree[key] = to_json_tree(item);
    return tree;
  }
  Tree operator()(const auto& plain) const { return plain; }
};

}  // namespace

const Value* find(const Value& value, std::string_view key) {
  const auto* mapping = std::get_if<ValueMapping>(&value);
  if (mapping == nullptr) return nullptr;
  const auto found =
      std::find_if(mapping->begin(), mapping->end(), [&](const auto& item) { return item.first == key; });
  return found == mapping->end() ? nullptr : &found->second;
}

std::string to_json_text(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return json_text(to_json_tree(value));
}

nlohmann::ordered_json to_json_tree(const Value& value) { return std::visit(ToTree{}, value); }

}  // namespace underlap::plan
