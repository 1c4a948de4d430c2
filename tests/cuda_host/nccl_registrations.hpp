// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "impl/device/cuda/nccl/nccl_api.hpp"

namespace underlap::cuda_host {

/// The memory that the NCCL of the tests gave away, and which of its communicators know what. The caller locks.
class NcclRegistrations {
 public:
  bool makes_windows = true;  ///< false: none, and all is well
  bool registers = true;      ///< false: nothing at all, and all is well

  void took(void* memory) { memory_.insert(memory); }
  /// False where NCCL did not allocate it.
  bool gave_back(void* memory) { return memory_.erase(memory) > 0; }

  /// Whether it may become a window: NCCL's own memory, in whole pages.
  bool can_be_window(const void* buffer, std::size_t bytes) const {
    const auto page = static_cast<std::uintptr_t>(cuda::kWindowAlignment);
    return reinterpret_cast<std::uintptr_t>(buffer) % page == 0 && bytes % page == 0 &&
           memory_.count(const_cast<void*>(buffer)) > 0;
  }

  /// The handle of a registration; null where there is to be none.
  void* keep(ncclComm_t communicator, const void* buffer, bool is_window) {
    if (!(is_window ? makes_windows : registers)) return nullptr;
    entries_[++last_] = {communicator, buffer, is_window};
    return reinterpret_cast<void*>(last_);
  }

  /// The buffer whose registration ends; null where there is none of that kind.
  const void* drop(ncclComm_t communicator, void* handle, bool is_window) {
    const auto found = entries_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == entries_.end() || found->second.communicator != communicator || found->second.is_window != is_window)
      return nullptr;
    const void* const buffer = found->second.buffer;
    entries_.erase(found);
    return buffer;
  }

  template <class Condition>
  bool any(Condition condition) const {
    return std::ranges::any_of(
        entries_, [&](const auto& entry) { return condition(entry.second.communicator, entry.second.buffer); });
  }

 private:
  struct Entry {
    ncclComm_t communicator = nullptr;
    const void* buffer = nullptr;
    bool is_window = false;
  };
  std::map<std::uintptr_t, Entry> entries_;  // by handle
  std::uintptr_t last_ = 0;
  std::set<void*> memory_;
};

}  // namespace underlap::cuda_host
