// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// A message of a plan about its configuration.
struct Finding {
  std::string_view kind;   ///< error, not-as-requested, exposed, contradiction, not-run or notice
  std::string_view level;  ///< SARIF's: error, warning or note
  Message message;
};

/// The messages of a matrix, the most severe first, each once instead of once for each cell.
std::vector<Finding> findings(const Matrix& matrix);

/// The requests of `plan` that are not in effect, each with the reason. They are overruled by a rule or a gate, or ask
/// for overlap or a kind of parallelism that the job does not have.
std::vector<std::string> unmet_requests(const Plan& plan);

/// Where a message points to: "config.yaml:3:5" is a file, a line and a column. Of anything else only `file` is set.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};
Location location_of(const std::string& where);

/// A line each, as GitHub's workflows read them: "::warning file=config.yaml,line=3,col=5,title=...::...".
std::string to_github(const std::vector<Finding>& findings);

/// A log of SARIF 2.1.0 with one run, as code scanning reads it.
std::string to_sarif(const std::vector<Finding>& findings);

}  // namespace underlap::plan
