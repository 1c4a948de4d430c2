// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace underlap {

/// What a program returns to its caller.
enum ExitCode : int {
  kOk = 0,
  kFound = 1,  ///< a regression, a race, a deadlock or a mismatch was found
  kBadInput = 2,
  kRunFailed = 3,
  kInconclusive = 4,
};

/// All of them, for who reads --help.
inline constexpr const char* kExitCodesText =
    "Exit status: 0 success, 1 finding (race, mismatch, regression), 2 bad input, 3 the run failed, 4 inconclusive.";

}  // namespace underlap
