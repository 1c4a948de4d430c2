// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "viewer/charts/chart.hpp"

namespace underlap::viewer {

/// Figures without rows. The title notes where times are modelled.
///
/// how   how_made() of what is drawn; empty: unknown
/// of    the drawn run, trace or comparison; follows `how` in the subtitle
ChartFigures headed(const std::string& title, const std::string& how, const std::string& of);

/// "5 blocks, quick/paced": follows how a run's figures were made.
std::string run_text(const ChartInput&);

/// The same of a trace: "4 ranks, 12 steps, both.pftrace".
std::string trace_text(const ChartInput&);

}  // namespace underlap::viewer
