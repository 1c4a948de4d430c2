// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "impl/plan/plan.hpp"
#include "platform/table.hpp"

namespace underlap::plan {

/// A matrix for people: the cells by what sets them apart, then what is not as requested, what does nothing, and what
/// `run` refuses, each once with the cells that it holds for.
std::string overview(const Matrix& matrix, const TableFormat& format);

/// A readable summary of one cell: the job, unmet requests, exposed communication and contradictions, then the
/// decisions of rules. Settings that are as requested are only counted.
std::string cell_summary(const Cell& cell, const TableFormat& format);

/// Notices that hold in every cell, each once.
std::vector<Message> common_notices(const Matrix& matrix);

}  // namespace underlap::plan
