// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/ranks/rank_runner.hpp"
#include "platform/network/message_channel.hpp"

namespace underlap::bench {

/// Main loop of a rank process: carries out the run's orders from `channel` until the run closes it.
///
/// Failures are sent to the run, which reports them to the user; nothing is printed here. Returns the exit status: 0
/// when the run is over, kRunFailed after a failure.
int serve_rank(MessageChannel channel, const RankFactory& make_runner);

}  // namespace underlap::bench
