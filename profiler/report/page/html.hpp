// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platform/table.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// A run as one page for a browser: what was run and whether its times are measured or modelled, steps and
/// communication as pictures, all tables. The page needs nothing beside itself.
std::string report_html(const RunResults& results);

/// A table with its columns' titles.
std::string html_table(const Table& table);

}  // namespace underlap::report
