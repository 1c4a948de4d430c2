// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "impl/device/cuda/nccl/nccl_api.hpp"
#include "impl/device/cuda/transport.hpp"

namespace underlap::cuda {

/// The registered buffers of one communicator, each as a symmetric window or by this rank's own registration.
///
/// With windows all members map each other's memory, which transfers by copy engine and NCCL's symmetric kernels need.
/// A registration by one rank avoids copies through NCCL's buffers. Both are released in reverse order, except after an
/// abort, which releases them itself.
///
/// Source: ncclCommRegister (2.19) and ncclCommWindowRegister (2.27; collective, addresses and sizes in whole 4 KiB of
/// memory from ncclMemAlloc). NCCL makes no window, yet returns success, if ranks are not in one NVLink domain or
/// NCCL_CUMEM_ENABLE is 0; the buffer is then registered by each rank alone. Up to 2.28 it returns that registration as
/// the window.
class NcclRegistration {
 public:
  explicit NcclRegistration(const NcclApi& api) : api_(api) {}

  /// Registers `buffers` in order. All members call it together. `notices` gets a line for each request that cannot be
  /// met. Throws MachineError naming the buffer that NCCL refuses; earlier buffers stay registered.
  void add(ncclComm_t communicator, const std::string& purpose, std::span<const RegisteredBuffer> buffers,
           std::vector<std::string>& notices);

  /// Whether every buffer has a window. Before 2.29 a window may not be symmetric, which add() reports.
  bool has_windows() const;

  /// Ends all registrations, the last one first.
  void remove(ncclComm_t communicator) noexcept;

 private:
  struct Entry {
    NcclWindow window = nullptr;
    void* local = nullptr;
  };
  Entry register_one(ncclComm_t communicator, const RegisteredBuffer& buffer) const;

  const NcclApi& api_;
  std::vector<Entry> entries_;
};

}  // namespace underlap::cuda
