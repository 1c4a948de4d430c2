// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "impl/device/cuda/control_plane.hpp"
#include "impl/device/cuda/nccl/nccl_api.hpp"
#include "impl/device/cuda/supervisor.hpp"
#include "impl/device/cuda/transport.hpp"
#include "impl/device/cuda/watchdog.hpp"

namespace underlap::cuda {

struct NcclOptions {
  std::int32_t rank = 0;
  int device = 0;
  std::chrono::milliseconds peer_timeout{30'000};
  std::chrono::milliseconds connecting_timeout{60'000};  ///< of a call that joins or registers
  std::chrono::milliseconds poll_interval{100};          ///< of the watchdog; 0: the owner polls
  SupervisorOptions supervisor = {};                     ///< its rank is `rank`
  /// Ends the process of a rank whose host hangs, with the reason; empty: no supervisor.
  std::function<void(const std::string&)> end_process = {};
};

/// One rank's NCCL communicators: blocking, one for each communicator that a device declares, created in the order of
/// the declarations. They are kept: a later device with the same declarations gets the same communicators. A channel
/// deregisters its buffers from its communicator when it is destroyed.
///
/// Used by the rank's thread; any thread may call abort(). `api` and `control` outlive it.
class NcclTransport final : public Transport {
 public:
  NcclTransport(const NcclApi& api, ControlPlane& control, const NcclOptions& options);
  ~NcclTransport() override;

  std::unique_ptr<Channel> connect(std::uint32_t index, std::string_view purpose, const Group& group,
                                   const CommunicatorHints& hints, std::span<const RegisteredBuffer> buffers) override;
  LibraryBytes allocate(std::int64_t bytes) override;
  void free(std::byte* memory) const noexcept override { (void)api_.MemFree(memory); }
  std::string link() const override;
  void abort() noexcept override;
  void rethrow_failure() const override;
  std::vector<std::string> notices() const override { return notices_; }

  Watchdog& watchdog() { return *watchdog_; }

 private:
  struct Communicator;
  class NcclChannel;

  Communicator& find_or_make(std::uint32_t index, std::string_view purpose, const Group& group,
                             const CommunicatorHints& hints);
  HostCall call_of(std::string_view operation, const Communicator& communicator) const;
  void create(Communicator& communicator);
  void warm(Communicator& communicator);
  void enqueue(Communicator& communicator, std::span<const BoundTransfer> transfers, CUstream_st* stream,
               std::uint64_t sequence);
  std::optional<std::string> find_error();
  void give_up(const std::string& what) noexcept;
  void end_with(const std::string& what) noexcept;
  void abort_communicators() noexcept;

  const NcclApi& api_;
  ControlPlane& control_;
  NcclOptions options_;
  int num_exceptions_ = std::uncaught_exceptions();  // in progress when this was constructed
  std::vector<std::string> notices_;
  std::mutex mutex_;  // of the list, which the watchdog reads
  std::vector<std::unique_ptr<Communicator>> communicators_;
  mutable std::mutex failure_mutex_;
  std::optional<std::string> failure_;
  std::atomic<bool> has_failed_{false};
  Supervisor supervisor_;
  std::unique_ptr<Watchdog> watchdog_;  // last: its thread uses all of the above
};

}  // namespace underlap::cuda
