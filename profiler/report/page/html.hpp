// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platform/table.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// A run as one page for a browser: a description of the run, whether its times are measured or modelled, pictures of
/// steps and communication, and all tables. The page needs no other files.
std::string report_html(const RunResults& results);

/// A table with its columns' titles.
std::string html_table(const Table& table);

}  // namespace underlap::report
