// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/gate/gate.hpp"
#include "profiler/page/html.hpp"

namespace underlap::gate {

/// A gate as one page for a browser: the verdict, what regressed and what would decide, changes with their limits as
/// bars, all metrics, how they were judged, and facts such as command and version.
std::string gate_html(const GateReport&, const std::vector<page::Fact>& facts);

}  // namespace underlap::gate
