// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/cuda/handles.hpp"

namespace underlap::cuda {

/// Pinned host memory for uploads to the device: slots of equal size, used in turn. The caller's bytes are copied into
/// a slot at once, and the slot goes to the device in stream order; an event shows when it is free again. A host that
/// fills slots faster than the device empties them waits for the oldest, as for a full launch queue.
class StagingRing {
 public:
  StagingRing(std::size_t num_slots, std::size_t slot_bytes);

  /// Enqueues a copy of `bytes` to the device memory at `destination`; the bytes are taken when this returns.
  /// Throws MachineError.
  void upload(CUstream_st* stream, std::byte* destination, std::span<const std::byte> bytes);

 private:
  struct Slot {
    std::byte* memory = nullptr;
    EventHandle emptied;
    bool was_used = false;
  };

  std::size_t slot_bytes_;
  PinnedBytes memory_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

}  // namespace underlap::cuda
