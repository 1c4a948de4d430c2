// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace underlap::gate {

/// By how much a metric may be worse: the larger of the two.
struct Tolerance {
  double share = 0;  ///< of the step; of "efficiency" the difference itself, of "bytes" their own share
  double ns = 0;     ///< of times alone
  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

/// "5%", "300us", or both with "or" between them. Throws std::invalid_argument saying what would do.
Tolerance parse_tolerance(std::string_view text);

/// What is asked of the metrics and cells that match. Patterns are a shell's: * for anything, ? for one letter.
struct Rule {
  std::string metric = "*";
  std::string cells = "*";
  Tolerance max_regression = {};
  bool is_judged = true;    ///< false: not looked at
  bool decides = true;      ///< false: where it is inconclusive, the gate may pass all the same
  bool is_default = false;  ///< no person's
};

/// Of several rules that match, the last one counts.
struct Rules {
  std::vector<Rule> rules = {};

  /// Null where none matches: the metric is not judged. Valid until the rules change.
  const Rule* find(std::string_view metric, std::string_view cell) const;

  /// A sentence for each pattern of a person's rules that matches none of the baseline's cells, or none of the metrics
  /// that runs report.
  std::vector<std::string> unused(const std::vector<std::string>& cells, const std::vector<std::string>& metrics) const;
};

/// Step and exposed time may grow by `tolerance` of the step, those of single modes and efficiency likewise, which
/// cannot leave the gate inconclusive; bytes on the wire and the numerics label must not get worse.
Rules default_rules(const Tolerance& tolerance);

/// `rules`, followed by those of a YAML file. Throws std::invalid_argument with every error of the file and its
/// position.
Rules with_rules_of(Rules rules, const std::filesystem::path& file);

/// Whether `text` matches a shell's pattern.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace underlap::gate
