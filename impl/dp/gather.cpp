// SPDX-License-Identifier: Apache-2.0
#include "impl/dp/gather.hpp"

namespace underlap::dp {

Event gather(const Context& context, const std::vector<std::int32_t>& buckets, std::int32_t step) {
  static const NameId kPurpose = intern("param_all_gather");
  const Buffers& buffers = *context.buffers;
  std::vector<Transfer> transfers;
  for (const std::int32_t b : buckets)
    transfers.push_back(
        {.collective = Collective::all_gather, .input = buffers.param_shard(b), .output = buffers.param_bucket(b)});
  const Tag tag{.direction = Direction::forward, .bucket = buckets.size() == 1 ? buckets[0] : -1, .step = step};
  return context.scope().communicate(context.gather, tag, kPurpose, transfers);
}

}  // namespace underlap::dp
