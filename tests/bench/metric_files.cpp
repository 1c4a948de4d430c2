// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/metric_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "platform/yaml_document.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const yaml::Node& document() {
  static const yaml::Document kDocument = [] {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(UNDERLAP_SOURCE_DIR) / "bench/metrics"))
      files.push_back(entry.path());
    std::ranges::sort(files);
    std::string text;
    for (const std::filesystem::path& file : files) text += read_text(file);
    yaml::Problems problems{"bench/metrics", {}};
    yaml::Document read = yaml::read_document(text, problems);
    problems.throw_any();
    return read;
  }();
  return *kDocument.root;
}

const yaml::Node& units() { return *find_entry(document(), "units")->value; }

std::string text_of(const yaml::Node& metric, std::string_view part) {
  const yaml::Entry* entry = find_entry(metric, part);
  return entry == nullptr ? "" : entry->value->text;
}

Metric metric_of(const yaml::Entry& entry) {
  Metric metric;
  metric.key = entry.key;
  for (const yaml::Entry& unit : units().entries)
    if (metric.unit.empty() && entry.key.ends_with(unit.key)) metric.unit = unit.value->text;
  if (entry.value->kind == yaml::Node::Kind::scalar) {
    metric.meaning = entry.value->text;
    return metric;
  }
  for (const yaml::Entry& part : entry.value->entries)
    if (const auto parts = {"is", "unit", "null if", "words", "column"};
        std::ranges::find(parts, part.key) == parts.end())
      throw std::runtime_error(fmt::format("bench/metrics: {} has an unknown part {}", entry.key, part.key));
  metric.meaning = text_of(*entry.value, "is");
  metric.null_if = text_of(*entry.value, "null if");
  if (const std::string own = text_of(*entry.value, "unit"); !own.empty()) metric.unit = own;
  if (const yaml::Entry* column = find_entry(*entry.value, "column")) {
    for (const yaml::Node* each : column->value->items) metric.columns.push_back(each->text);
    if (metric.columns.empty()) metric.columns.push_back(column->value->text);
  }
  if (const yaml::Entry* words = find_entry(*entry.value, "words"))
    for (const yaml::Entry& word : words->value->entries) metric.words.emplace_back(word.key, word.value->text);
  return metric;
}

std::string as_code(const std::vector<std::string>& words) {
  return words.empty() ? "" : fmt::format("`{}`", fmt::join(words, "`, `"));
}

std::string cell_text(const Metric& metric) {
  std::string text = metric.meaning;
  if (!metric.null_if.empty()) text += "; null if " + metric.null_if;
  for (const auto& [word, meaning] : metric.words) text += fmt::format(". `{}`: {}", word, meaning);
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

}  // namespace

std::vector<std::string> metric_sections() {
  std::vector<std::string> names;
  for (const yaml::Entry& section : document().entries)
    if (section.key != "units") names.push_back(section.key);
  return names;
}

std::vector<Metric> metrics_of(const std::string& section) {
  const yaml::Entry* found = find_entry(document(), section);
  if (found == nullptr) throw std::runtime_error("bench/metrics: no section " + section);
  std::vector<Metric> metrics;
  for (const yaml::Entry& entry : found->value->entries) metrics.push_back(metric_of(entry));
  return metrics;
}

bool defines(const Metric& metric, const std::string& path) {
  const auto ends = [&](const std::string& key) { return path == key || path.ends_with("." + key); };
  if (!metric.key.ends_with("_*")) return ends(metric.key);
  const std::string stem = metric.key.substr(0, metric.key.size() - 2);
  return std::ranges::any_of(units().entries, [&](const yaml::Entry& unit) { return ends(stem + unit.key); });
}

std::string metrics_table(const std::vector<Metric>& metrics) {
  const bool has_columns = std::ranges::any_of(metrics, [](const Metric& metric) { return !metric.columns.empty(); });
  std::string text = has_columns ? "| key | meaning | unit | column |\n| :-- | :-- | :-- | :-- |\n"
                                 : "| key | meaning | unit |\n| :-- | :-- | :-- |\n";
  for (const Metric& metric : metrics)
    text += fmt::format("| `{}` | {} | {} |{}\n", metric.key, cell_text(metric), metric.unit,
                        has_columns ? fmt::format(" {} |", as_code(metric.columns)) : "");
  return text;
}

}  // namespace underlap::bench
