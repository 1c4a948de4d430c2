// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace underlap::bench {

/// Reads the maps of a study's file and collects errors, each with its place.
class StudyParser {
 public:
  using Readers = std::map<std::string, std::function<void(const YAML::Node&)>>;

  explicit StudyParser(const std::string& where) : where_(where) {}

  void error(const YAML::Mark& mark, const std::string& message) {
    errors_ +=
        fmt::format("{}{}:{}:{}: {}", errors_.empty() ? "" : "\n", where_, mark.line + 1, mark.column + 1, message);
  }

  void map(const YAML::Node& node, const Readers& readers) {
    if (!node.IsMap()) return error(node.Mark(), "must be a map of keys and values");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.Scalar();
      const auto reader = readers.find(key);
      if (!seen.insert(key).second)
        error(entry.first.Mark(), fmt::format("{} stands twice", key));
      else if (reader == readers.end())
        error(entry.first.Mark(), fmt::format("unknown key \"{}\"; known: {}", key, names(readers)));
      else
        reader->second(entry.second);
    }
  }

  // A reader for the study's name, which must be this one.
  auto name(std::string expected) {
    return [this, expected = std::move(expected)](const YAML::Node& node) {
      if (!node.IsScalar() || node.Scalar() != expected) error(node.Mark(), fmt::format("study must be {}", expected));
    };
  }

  // A reader for a text that is not empty.
  auto text(std::string& out) {
    return [this, &out](const YAML::Node& node) {
      if (!node.IsScalar() || node.Scalar().empty()) return error(node.Mark(), "must be text");
      out = node.Scalar();
    };
  }

  // A reader for a list whose elements `read` reads.
  template <class Read>
  auto each(Read read) {
    return [this, read = std::move(read)](const YAML::Node& node) {
      if (!node.IsSequence()) return error(node.Mark(), "must be a list");
      for (const YAML::Node& element : node) read(element);
    };
  }

  // A reader for one value in [low, high].
  template <class T>
  auto value(T& out, T low, T high) {
    return [this, &out, low, high](const YAML::Node& node) { read(node, out, low, high); };
  }

  template <class T>
  auto list(std::vector<T>& out, T low, T high) {
    return [this, &out, low, high](const YAML::Node& node) {
      if (!node.IsSequence() || node.size() == 0) return error(node.Mark(), "must be a list of at least one value");
      out.clear();
      for (const YAML::Node& element : node) read(element, out.emplace_back(), low, high);
    };
  }

  const std::string& errors() const { return errors_; }

 private:
  static std::string names(const Readers& readers) {
    std::string text;
    for (const auto& [key, reader] : readers) text += (text.empty() ? "" : ", ") + key;
    return text;
  }

  template <class T>
  void read(const YAML::Node& node, T& out, T low, T high) {
    T value{};
    // yaml-cpp wraps negative numbers around if the type is unsigned.
    const bool is_number = node.IsScalar() && YAML::convert<T>::decode(node, value) &&
                           (std::is_signed_v<T> || !node.Scalar().starts_with('-'));
    if (!is_number || !(value >= low && value <= high))
      return error(node.Mark(), fmt::format("\"{}\" must be a {} from {} to {}", node.IsScalar() ? node.Scalar() : "",
                                            std::is_integral_v<T> ? "whole number" : "number", low, high));
    out = value;
  }

  std::string where_;
  std::string errors_;
};

/// Updates `study` from the YAML of `where` with `read(parser, root, study)`. Throws std::invalid_argument with every
/// error of the file, one line each.
template <class Study, class Read>
Study parsed_study(const std::string& yaml, const std::string& where, Study study, const Read& read) {
  StudyParser parser(where);
  try {
    read(parser, YAML::Load(yaml), study);
  } catch (const YAML::Exception& exception) {
    parser.error(exception.mark, exception.msg);
  }
  if (!parser.errors().empty()) throw std::invalid_argument(parser.errors());
  return study;
}

}  // namespace underlap::bench
