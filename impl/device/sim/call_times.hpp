// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

/// The parts of a rank's calls and what each takes: found once for all that are alike, which in a training step are
/// nearly all.
class CallTimes {
 public:
  /// `time` outlives this.
  explicit CallTimes(const TimeModel& time) : time_(time) {}

  struct Call {
    std::vector<CallPart> parts;
    std::vector<TransferTime> times;  ///< by part
    int sms = 0;                      ///< that the call holds
  };
  /// Of one of the rank's programs. Stays where it is as long as this lives.
  const Call& of(const Program& program, const ProgramCommand& call);

 private:
  using Shapes = std::vector<TransferShape>;
  struct Hash {
    std::size_t operator()(const Shapes& shapes) const;
  };

  const TimeModel& time_;
  std::vector<std::unordered_map<Shapes, Call, Hash>> known_;  // by communicator, which has the members and the hints
  Shapes shapes_;                                              // of the requested call
};

}  // namespace underlap::sim
