// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/operation.hpp"

namespace underlap::host {

/// Runs an operation's CPU form on private copies of its views instead of the memory behind `views`.
///
/// `out` copies start as NaN, the gaps between rows and a zone on both sides are filled with a pattern; `inout` and
/// `out` copies are written back. So a form that reads what it did not declare finds NaN, and one that writes outside
/// what it declared is caught. Only declared memory is touched: streams that run at the same time are safe. Throws
/// std::logic_error naming the operation and the view where a guard or an `in` view was written.
void run_guarded(const Operation& operation, std::span<const BoundView> views);

}  // namespace underlap::host
