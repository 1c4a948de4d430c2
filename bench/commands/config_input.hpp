// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Reads the matrix of `file`, which may be a pipe. Throws as plan::read_config() does, and std::invalid_argument for
/// the file of a study, naming the command that runs it.
plan::Matrix read_matrix(const std::string& file, const std::vector<plan::Override>& overrides = {});

/// The plans of a matrix as JSON: one plan for a single cell, else an object with `cells`: name and plan of each.
/// Errors of the file as a whole stand in the plans.
std::string plans_json(const plan::Matrix& matrix);

/// Prints a matrix's errors on stderr, one line each.
void print_errors(const plan::Matrix& matrix);

/// Prints on stderr what the matrix plans and this version does not run, one line for each thing and not for each cell.
/// Returns whether there is any.
bool refuse_not_run(const plan::Matrix& matrix);

}  // namespace underlap::bench
