// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "impl/device/sim/yaml_section.hpp"

namespace underlap::bench {

/// Common parts of files of published figures. Errors are added to the problems, with their places.
class StudyReader {
 public:
  explicit StudyReader(yaml::Problems& problems) : problems_(problems) {}

  /// The items of `list` in a file that contains only `study: name` and `list`.
  std::vector<const yaml::Node*> items(const yaml::Node& root, std::string_view name, std::string_view list);

  /// The text of a required key; "" if it is invalid.
  std::string text(sim::Section& section, std::string_view key);

  /// The number of `node`; 1 if it is missing or invalid.
  double number(const yaml::Node* node, std::string_view key, const sim::Range& range);

  /// Whether a hardware description of that name exists.
  bool check_hardware(const yaml::Node& node, const std::string& name);

  /// Reports an item whose name another one of `items` has.
  template <class Item>
  void check_names(const yaml::Node& root, std::string_view what, const std::vector<Item>& items) {
    std::vector<std::string> names;
    for (const Item& item : items) names.push_back(item.name);
    check_names(root, what, std::move(names));
  }

 private:
  void check_names(const yaml::Node& root, std::string_view what, std::vector<std::string> names);

  yaml::Problems& problems_;
};

/// The result of `read(root, problems)` for the YAML of `where`. Throws std::invalid_argument with every error, one
/// line each: `where`:line:column: the error.
template <class Read>
auto read_study(const std::string& yaml, const std::string& where, const Read& read) {
  yaml::Problems problems(where, {});
  const yaml::Document document = yaml::read_document(yaml, problems);
  decltype(read(*document.root, problems)) study;
  if (document.root != nullptr)
    study = read(*document.root, problems);
  else if (problems.empty())
    problems.add({}, "the file is empty");
  problems.throw_any();
  return study;
}

}  // namespace underlap::bench
