// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/launch/agent_messages.hpp"
#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// What this process is and has read, which all launched processes of a run must share: version and commit, the plans
/// of the configuration, its seed, and the libraries that compute and carry the bytes.
Facts facts_of(const plan::Matrix& matrix);

}  // namespace underlap::bench
