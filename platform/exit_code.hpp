// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace underlap {

/// What a program returns to its caller.
enum ExitCode : int {
  kOk = 0,
  kFound = 1,  ///< a regression, a race, a deadlock or a mismatch was found
  kBadInput = 2,
  kRunFailed = 3,
  kInconclusive = 4,
};

/// An exit code and its meaning, for help and manual page.
struct ExitStatus {
  ExitCode code;
  const char* meaning;
};
inline constexpr std::array<ExitStatus, 5> kExitStatuses{
    {{kOk, "success; gate: pass"},
     {kFound, "finding: race, deadlock, mismatch, difference or regression"},
     {kBadInput, "bad input"},
     {kRunFailed, "the run failed"},
     {kInconclusive, "inconclusive"}}};

}  // namespace underlap
