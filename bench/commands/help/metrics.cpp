// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/help/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "platform/yaml_document.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::ordered_json;

// comm_*: {is: "Time with communication: |C|", column: [comm, comm ms]}, or schema: Name and version of the format
std::string described(const yaml::Node& metric, std::string unit, bool can_be_null) {
  if (metric.kind == yaml::Node::Kind::scalar)
    return fmt::format("{}.{}", metric.text, unit.empty() ? "" : fmt::format(" Unit: {}.", unit));
  if (const yaml::Entry* own = find_entry(metric, "unit")) unit = own->value->text;
  std::string text = described(*find_entry(metric, "is")->value, unit, can_be_null);
  if (const yaml::Entry* when = find_entry(metric, "null if"); when != nullptr && can_be_null)
    text += fmt::format(" Null if {}.", when->value->text);
  if (const yaml::Entry* words = find_entry(metric, "words"))
    for (const yaml::Entry& word : words->value->entries) text += fmt::format(" {}: {}.", word.key, word.value->text);
  return text;
}

bool is_nullable(const Json& property) {
  return std::ranges::any_of(property.value("anyOf", Json::array()),
                             [](const Json& part) { return part.value("type", "") == "null"; });
}

class Metrics {
 public:
  explicit Metrics(std::string_view format) {
    yaml::Problems problems{"bench/metrics", {}};
    document_ = read_document(std::string(metrics_text()), problems);
    problems.throw_any();
    own_ = find_entry(*document_.root, format)->value;
    common_ = find_entry(*document_.root, "common")->value;
    units_ = find_entry(*document_.root, "units")->value;
  }

  // Of the property at `path`, such as cells.statistics.step_ms; empty if it has no entry. The longest key wins.
  std::string description(std::string_view path, bool can_be_null) const {
    for (std::string_view key = path;; key.remove_prefix(key.find('.') + 1)) {
      for (const yaml::Node* metrics : {own_, common_})
        if (const auto [metric, unit] = find(*metrics, key); metric != nullptr)
          return described(*metric->value, unit, can_be_null);
      if (key.find('.') == std::string_view::npos) return {};
    }
  }

 private:
  // The entry of `key`, or that of its name with * for the unit.
  std::pair<const yaml::Entry*, std::string> find(const yaml::Node& metrics, std::string_view key) const {
    for (const yaml::Entry& unit : units_->entries) {
      if (!key.ends_with(unit.key)) continue;
      const yaml::Entry* exact = find_entry(metrics, key);
      const std::string stem(key.substr(0, key.size() - unit.key.size()));
      return {exact != nullptr ? exact : find_entry(metrics, stem + "_*"), unit.value->text};
    }
    return {find_entry(metrics, key), ""};
  }

  yaml::Document document_;
  const yaml::Node* own_ = nullptr;
  const yaml::Node* common_ = nullptr;
  const yaml::Node* units_ = nullptr;
};

void describe(Json& schema, const std::string& path, const Metrics& metrics) {
  if (schema.contains("properties"))
    for (auto& [key, property] : schema["properties"].items()) {
      const std::string place = path.empty() ? key : path + "." + key;
      describe(property, place, metrics);
      Json result{{"description", metrics.description(place, is_nullable(property))}};
      result.update(property);
      property = std::move(result);
    }
  if (schema.contains("anyOf"))
    for (Json& part : schema["anyOf"]) describe(part, path, metrics);
  for (const char* elements : {"items", "additionalProperties"})
    if (schema.contains(elements)) describe(schema[elements], path, metrics);
}

}  // namespace

void describe_properties(nlohmann::ordered_json& schema, std::string_view format) {
  describe(schema, "", Metrics(format));
}

}  // namespace underlap::bench
