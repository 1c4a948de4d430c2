// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// plan::parse, completed with what only the model's weights tell: the buckets.
plan::Matrix parse_matrix(const std::string& yaml, const std::string& where,
                          const std::vector<plan::Override>& overrides = {});

/// The plans of a matrix as JSON: one plan for a single cell, else an object with `cells`: name and plan of each.
/// Errors of the file as a whole stand in the plans.
std::string plans_json(const plan::Matrix& matrix);

/// Prints a matrix's errors on stderr, one line each.
void print_errors(const plan::Matrix& matrix);

/// Prints on stderr what the matrix plans and this version does not run, one line for each thing and not for each cell.
/// Returns whether there is any.
bool refuse_not_run(const plan::Matrix& matrix);

}  // namespace underlap::bench
