// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/rules.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "platform/input/input_file.hpp"
#include "platform/problems.hpp"
#include "platform/suggestion.hpp"
#include "platform/yaml_document.hpp"

namespace underlap::gate {
namespace {

constexpr std::size_t kMostRuleBytes = std::size_t{1} << 20;
constexpr std::string_view kExample = "such as {metric: step, cells: \"*\", max_regression: 5%}";
constexpr std::array<std::string_view, 5> kKeys{"metric", "cells", "max_regression", "judge", "inconclusive"};
constexpr std::array<std::string_view, 5> kMetrics{"step", "exposed", "efficiency", "bytes", "numerics"};

struct Unit {
  std::string_view name;
  double factor;
  double Tolerance::*member;
};
constexpr std::array<Unit, 5> kUnits{{{"%", 0.01, &Tolerance::share},
                                      {"ns", 1, &Tolerance::ns},
                                      {"us", 1e3, &Tolerance::ns},
                                      {"ms", 1e6, &Tolerance::ns},
                                      {"s", 1e9, &Tolerance::ns}}};

[[noreturn]] void refuse_tolerance(std::string_view text) {
  throw std::invalid_argument(
      fmt::format("{} is not a tolerance; write a share of the step (5%), a time (300us) or both (\"2% or 100us\")",
                  yaml::in_quotes(text)));
}

void read_amount(std::string_view word, std::string_view whole, Tolerance& tolerance) {
  double amount = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, amount);
  const std::string_view name(stop, static_cast<std::size_t>(end - stop));
  const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
  if (error == std::errc() && amount == 0 && name.empty()) return;  // nothing, in any unit
  if (error != std::errc() || unit == kUnits.end() || !std::isfinite(amount) || amount < 0) refuse_tolerance(whole);
  tolerance.*(unit->member) = amount * unit->factor;
}

class Reader {
 public:
  explicit Reader(yaml::Problems& problems) : problems_(problems) {}

  void read(const yaml::Node& root, Rules& rules) {
    const yaml::Entry* list = yaml::find_entry(root, "rules");
    if (list == nullptr || list->value->kind != yaml::Node::Kind::sequence || list->value->items.empty())
      return problems_.add(
          list == nullptr ? root.place : list->value->place,
          fmt::format("a gate file needs a list of rules; write \"rules:\" and a list below it, {}", kExample));
    for (const yaml::Entry& entry : root.entries)
      if (entry.key != "rules")
        problems_.add(entry.place,
                      fmt::format("unknown key {}; a gate file only has rules", yaml::in_quotes(entry.key)));
    for (const yaml::Node* item : list->value->items) read_rule(*item, rules);
  }

 private:
  void read_rule(const yaml::Node& node, Rules& rules) {
    if (node.kind != yaml::Node::Kind::mapping || node.entries.empty())
      return problems_.add(node.place,
                           fmt::format("a rule is {}; write a mapping, {}", yaml::describe(node), kExample));
    // A rule inherits omitted keys from the earlier rule with the same match, or else from the step's rule.
    Rule rule;
    if (const yaml::Entry* metric = yaml::find_entry(node, "metric")) rule.metric = metric_of(*metric);
    if (const yaml::Entry* cells = yaml::find_entry(node, "cells")) rule.cells = text(*cells);
    const Rule* found = rules.find(rule.metric, rule.cells);
    const Rule& before = found == nullptr ? rules.rules.front() : *found;
    rule.max_regression = before.max_regression;
    rule.is_judged = before.is_judged;
    rule.decides = before.decides;
    for (const yaml::Entry& entry : node.entries) read_key(entry, rule);
    rules.rules.push_back(std::move(rule));
  }

  void read_key(const yaml::Entry& entry, Rule& rule) {
    if (entry.key == "max_regression")
      read_tolerance(entry, rule);
    else if (entry.key == "judge")
      rule.is_judged = choice(entry, "true", "false", rule.is_judged);
    else if (entry.key == "inconclusive")
      rule.decides = choice(entry, "counts", "passes", rule.decides);
    else if (entry.key != "metric" && entry.key != "cells")
      problems_.add(entry.place,
                    fmt::format("unknown key {} in a rule{}; known: {}", yaml::in_quotes(entry.key),
                                did_you_mean(entry.key, std::vector<std::string_view>(kKeys.begin(), kKeys.end())),
                                fmt::join(kKeys, ", ")));
  }

  void read_tolerance(const yaml::Entry& entry, Rule& rule) {
    try {
      rule.max_regression = parse_tolerance(text(entry));
    } catch (const std::invalid_argument& error) {
      problems_.add(entry.value->place, fmt::format("max_regression {}", error.what()));
    }
  }

  bool choice(const yaml::Entry& entry, std::string_view yes, std::string_view no, bool otherwise) {
    const std::string word = text(entry);
    if (word == yes) return true;
    if (word == no) return false;
    problems_.add(entry.value->place,
                  fmt::format("{} is {}; must be {} or {}", entry.key, yaml::in_quotes(word), yes, no));
    return otherwise;
  }

  std::string metric_of(const yaml::Entry& entry) {
    const std::string metric = text(entry);
    const bool is_pattern = metric.find_first_of("*?[") != std::string::npos;
    if (!is_pattern && !metric.starts_with("exposed.") && std::ranges::find(kMetrics, metric) == kMetrics.end())
      problems_.add(entry.value->place,
                    fmt::format("metric is {}; must be one of {}, exposed.MODE, or a pattern such as exposed.*",
                                yaml::in_quotes(metric), fmt::join(kMetrics, ", ")));
    return metric;
  }

  std::string text(const yaml::Entry& entry) {
    if (entry.value->kind == yaml::Node::Kind::scalar && !entry.value->text.empty()) return entry.value->text;
    problems_.add(entry.value->place, fmt::format("{} is {}, must be text", entry.key, yaml::describe(*entry.value)));
    return "*";
  }

  yaml::Problems& problems_;
};

}  // namespace

Tolerance parse_tolerance(std::string_view text) {
  Tolerance tolerance;
  const std::vector<std::string_view> words = yaml::split_words(text);
  if (words.size() != 1 && !(words.size() == 3 && words[1] == "or")) refuse_tolerance(text);
  read_amount(words.front(), text, tolerance);
  if (words.size() == 3) read_amount(words.back(), text, tolerance);
  return tolerance;
}

bool matches(std::string_view pattern, std::string_view text) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), 0) == 0;
}

const Rule* Rules::find(std::string_view metric, std::string_view cell) const {
  const auto found = std::find_if(rules.rbegin(), rules.rend(), [&](const Rule& rule) {
    return matches(rule.metric, metric) && matches(rule.cells, cell);
  });
  return found == rules.rend() ? nullptr : &*found;
}

std::vector<std::string> Rules::unused(const std::vector<std::string>& cells,
                                       const std::vector<std::string>& metrics) const {
  std::vector<std::string> warnings;
  const auto match_none = [](const std::vector<std::string>& names, const std::string& pattern) {
    return std::ranges::none_of(names, [&](const std::string& name) { return matches(pattern, name); });
  };
  for (const Rule& rule : rules) {
    if (rule.is_default) continue;
    if (match_none(cells, rule.cells))
      warnings.push_back(fmt::format("a rule is for cells {}, but the baseline has no such cell", rule.cells));
    if (match_none(metrics, rule.metric))
      warnings.push_back(fmt::format("a rule is for metric {}, but these runs do not report it; they report {}",
                                     rule.metric, fmt::join(metrics, ", ")));
  }
  return warnings;
}

Rules default_rules(const Tolerance& tolerance) {
  const Rule watched{.metric = "exposed.*", .max_regression = tolerance, .decides = false};
  Rule efficiency = watched;
  efficiency.metric = "efficiency";
  Rules rules{{{.metric = "step", .max_regression = tolerance},
               {.metric = "exposed", .max_regression = tolerance},
               watched,
               efficiency,
               {.metric = "bytes"},
               {.metric = "numerics"}}};
  for (Rule& rule : rules.rules) rule.is_default = true;
  return rules;
}

Rules with_rules_of(Rules rules, const std::filesystem::path& file) {
  yaml::Problems problems(file.string(), {});
  const yaml::Document document = yaml::read_document(read_input_file(file, {.bytes = kMostRuleBytes}), problems);
  if (document.root != nullptr) Reader(problems).read(*document.root, rules);
  if (document.root == nullptr && problems.empty())
    problems.add({}, fmt::format("is empty; write a rule, {}", kExample));
  problems.throw_any();
  return rules;
}

}  // namespace underlap::gate
