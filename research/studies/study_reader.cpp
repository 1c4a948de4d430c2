// SPDX-License-Identifier: Apache-2.0
#include "research/studies/study_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "impl/device/sim/hardware.hpp"

namespace underlap::bench {

std::vector<const yaml::Node*> StudyReader::items(const yaml::Node& root, std::string_view name,
                                                  std::string_view list) {
  sim::Section section(root, "the study", problems_);
  if (const auto* node = section.get("study"); node != nullptr && node->text != name)
    problems_.add(node->place, fmt::format("study is {}, must be {}", yaml::describe(*node), name));
  const auto* node = section.get(list);
  section.finish();
  return node == nullptr ? std::vector<const yaml::Node*>() : sim::read_list(*node, list, problems_);
}

std::string StudyReader::text(sim::Section& section, std::string_view key) {
  const auto* node = section.get(key);
  return node == nullptr ? "" : sim::read_text(*node, key, problems_).value_or("");
}

double StudyReader::number(const yaml::Node* node, std::string_view key, const sim::Range& range) {
  return node == nullptr ? 1 : sim::read_number(*node, key, range, problems_).value_or(1);
}

bool StudyReader::check_hardware(const yaml::Node& node, const std::string& name) {
  const auto known = sim::hardware_names();
  if (std::ranges::find(known, name) != known.end()) return true;
  problems_.add(node.place,
                fmt::format("unknown hardware {}; available: {}", yaml::in_quotes(name), fmt::join(known, ", ")));
  return false;
}

void StudyReader::check_names(const yaml::Node& root, std::string_view what, std::vector<std::string> names) {
  std::ranges::sort(names);
  for (auto twice = std::ranges::adjacent_find(names); twice != names.end();
       twice = std::adjacent_find(std::next(twice), names.end()))
    problems_.add(root.place, fmt::format("{} {} stands twice", what, yaml::in_quotes(*twice)));
}

}  // namespace underlap::bench
