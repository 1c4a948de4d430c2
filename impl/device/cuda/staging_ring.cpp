// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/staging_ring.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/check.hpp"

namespace underlap::cuda {

StagingRing::StagingRing(std::size_t num_slots, std::size_t slot_bytes)
    : slot_bytes_(slot_bytes), memory_(make_pinned(num_slots * slot_bytes)) {
  std::memset(memory_.get(), 0, num_slots * slot_bytes);
  for (std::size_t i = 0; i < num_slots; ++i) slots_.push_back({memory_.get() + i * slot_bytes, make_event(), false});
}

void StagingRing::upload(CUstream_st* stream, std::byte* destination, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    Slot& slot = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    if (slot.was_used) check(cudaEventSynchronize(slot.emptied.get()));
    const std::size_t size = std::min(bytes.size(), slot_bytes_);
    std::memcpy(slot.memory, bytes.data(), size);
    check(cudaMemcpyAsync(destination, slot.memory, size, cudaMemcpyHostToDevice, stream));
    check(cudaEventRecord(slot.emptied.get(), stream));
    slot.was_used = true;
    destination += size;
    bytes = bytes.subspan(size);
  }
}

}  // namespace underlap::cuda
