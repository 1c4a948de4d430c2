// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "platform/table.hpp"

namespace underlap::bench {

/// What a study prints, and the files that it leaves.
struct StudyOutput {
  Table table;
  std::string json_name = "results.json";
  std::string json;
  std::string report_name = "report.md";
  std::string report;
};

/// A comparison or a calculation that is no measurement of this machine.
struct Study {
  const char* name;     ///< on the command line, and what `study:` in its file says
  const char* what;     ///< in a few words
  const char* example;  ///< arguments that make what lies in results/
  /// `where` names the file of `yaml`. Throws std::invalid_argument with every error of the file, a line each.
  StudyOutput (*run)(const std::string& yaml, const std::string& where);
};

std::span<const Study> all_studies();

/// Throws std::invalid_argument, naming those that there are, for a name that is none of them.
const Study& study_named(const std::string& name);

}  // namespace underlap::bench
