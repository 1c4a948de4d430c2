// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap {

/// What a program returns to its caller.
enum ExitCode : int {
  kWell = 0,
  kFound = 1,  ///< a regression, a race, a deadlock or a mismatch was found
  kBadInput = 2,
  kRunFailed = 3,
  kInconclusive = 4,
};

}  // namespace underlap
