// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "impl/plan/plan.hpp"
#include "platform/table.hpp"

namespace underlap::plan {

/// The plan for people: requests that a gate switched off, then every knob, the environment, notices and errors.
std::string to_text(const Plan& plan, const TableFormat& format);

}  // namespace underlap::plan
