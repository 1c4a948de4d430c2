// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/ranks/rank_runner.hpp"
#include "platform/network/message_channel.hpp"

namespace underlap::bench {

/// The life of a rank that is a process of its own: does what the run orders through `channel` until the run closes it.
///
/// What fails is sent to the run, which tells the user; nothing is printed here. Returns the exit status: 0 when the
/// run is over, kRunFailed after a failure.
int serve_rank(MessageChannel channel, const RankFactory& make_runner);

}  // namespace underlap::bench
