// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include "bench/reduction_error.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kStudy = "dp_reduction_error";

class Parser {
 public:
  using Readers = std::map<std::string, std::function<void(const YAML::Node&)>>;

  explicit Parser(const std::string& where) : where_(where) {}

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

  // A reader of one value in [low, high].
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
    // yaml-cpp wraps a negative number around where the type is unsigned.
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

void read_study(Parser& parser, const YAML::Node& root, ReductionErrorStudy& study) {
  const auto gradient = [&](const YAML::Node& node) {
    parser.map(node, {{"noise_to_signal", parser.value(study.noise_to_signal, 0.0, 1e6)},
                      {"scale_median", parser.value(study.scale_median, 1e-30, 1e30)},
                      {"scale_log_sigma", parser.value(study.scale_log_sigma, 0.0, 10.0)}});
  };
  const auto name = [&](const YAML::Node& node) {
    if (!node.IsScalar() || node.Scalar() != kStudy) parser.error(node.Mark(), fmt::format("study must be {}", kStudy));
  };
  parser.map(root, {{"study", name},
                    {"group_sizes", parser.list(study.group_sizes, 1, 4096)},
                    {"elements", parser.value<std::int64_t>(study.elements, 1, 1LL << 30)},
                    {"seeds", parser.list<std::uint64_t>(study.seeds, 0, ~0ULL)},
                    {"gradient", gradient}});
}

}  // namespace

bool is_reduction_error_study(const std::string& yaml) {
  try {
    const YAML::Node root = YAML::Load(yaml);
    const YAML::Node study = root.IsMap() ? root["study"] : YAML::Node();
    return study && study.IsScalar() && study.Scalar() == kStudy;
  } catch (const YAML::Exception&) {
    return false;
  }
}

ReductionErrorStudy parse_reduction_error_study(const std::string& yaml, const std::string& where) {
  Parser parser(where);
  ReductionErrorStudy study;
  try {
    read_study(parser, YAML::Load(yaml), study);
  } catch (const YAML::Exception& exception) {
    parser.error(exception.mark, exception.msg);
  }
  if (!parser.errors().empty()) throw std::invalid_argument(parser.errors());
  return study;
}

}  // namespace underlap::bench
