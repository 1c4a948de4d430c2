// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "platform/table.hpp"

namespace underlap::bench {

/// The text that a study prints, and the files that it writes.
struct StudyOutput {
  Table table;
  std::string json_name = "results.json";
  std::string json;
  std::string report_name = "report.md";
  std::string report;
};

/// A comparison or a calculation, not a measurement of this machine.
struct Study {
  const char* name;     ///< on the command line, and in `study:` of its file
  const char* what;     ///< short description
  const char* example;  ///< arguments that produce the files in results/
  /// `where` names the file of `yaml`. Throws std::invalid_argument with every error of the file, one line each.
  StudyOutput (*run)(const std::string& yaml, const std::string& where);
};

std::span<const Study> all_studies();

/// Throws std::invalid_argument for an unknown name, listing the existing ones.
const Study& study_named(const std::string& name);

}  // namespace underlap::bench
