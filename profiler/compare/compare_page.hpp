// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/compare/compare_report.hpp"
#include "profiler/page/html.hpp"

namespace underlap::compare {

/// A comparison as one page for a browser: the answer, where the difference went as bars and tables, communication by
/// mode, operations, and facts such as command and version.
std::string compare_html(const CompareReport&, const std::vector<page::Fact>& facts);

}  // namespace underlap::compare
