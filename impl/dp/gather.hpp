// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/dp/technique.hpp"

namespace underlap::dp {

/// Gathers the parameters of `buckets` as one group on the gather communicator, after what the compute stream holds
/// now: the shards' update before all, and for a bucket fetched ahead the point that the forward pass has reached.
void gather(const Context& context, const std::vector<std::int32_t>& buckets, std::int32_t step);

}  // namespace underlap::dp
