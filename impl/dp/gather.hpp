// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/dp/technique.hpp"

namespace underlap::dp {

/// Gathers the parameters of `buckets` as one group on the gather communicator. The caller orders it after the shards'
/// update on the compute stream. Returns when they are there.
Event gather(const Context& context, const std::vector<std::int32_t>& buckets, std::int32_t step);

}  // namespace underlap::dp
