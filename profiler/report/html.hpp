// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "platform/table.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// A run as one page for a browser: what was run and whether its times are measured or modelled, steps and
/// communication as pictures, all tables. The page needs nothing beside itself.
std::string report_html(const RunResults& results);

/// `text` as a browser shows it letter by letter, also within an attribute in double quotes.
std::string html_escaped(std::string_view text);

/// A table with its columns' titles.
std::string html_table(const Table& table);

}  // namespace underlap::report
