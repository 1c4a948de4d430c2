// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/cuda/clock_check.hpp"
#include "impl/device/cuda/emulated_link/link_kernel.hpp"
#include "impl/device/cuda/emulated_link/link_report.hpp"
#include "impl/device/cuda/handles.hpp"
#include "impl/device/cuda/transport.hpp"
#include "impl/plan/config/run_config.hpp"

namespace underlap::cuda {

struct EmulatedLinkOptions {
  plan::EmulatedLink link;
  LinkShape shape;
  int num_records = 1 << 14;  ///< groups of transfers between two reports
  /// Link time of a copy engine's piece: many times the time that starting a copy takes.
  double copy_piece_us = 20;
};

template <class T>
using DeviceMemory = Handle<T, cudaFree>;

/// The reason why copies within one GPU do not use copy engines on this machine, even on request, and what would help;
/// empty if they do.
std::string why_no_copy_engine();

/// The link of a rank that is alone on its GPU. Its peers are assumed to do the same at the same time: transfers start
/// when this rank starts them, and waiting for peers is not emulated. Received data has no meaning (link_kernel.hpp).
///
/// A group of transfers is one kernel of `sms` blocks. If copy engines are requested, all_gather, all_to_all, send,
/// receive and broadcast are copies of a copy engine; a kernel of one thread before each piece keeps the pace. All of
/// them share one rate in each direction. Latency counts once for a group, by its transfer with most steps. A
/// communicator's hints (number of blocks, cluster size) replace those of the link. The kernel is launched with the
/// attributes of NCCL's.
class EmulatedLink final : public Transport {
 public:
  /// On the current device, with no kernel in flight. Throws MachineError if the device lacks memory.
  explicit EmulatedLink(const EmulatedLinkOptions& options);
  ~EmulatedLink() override;

  std::unique_ptr<Channel> connect(std::uint32_t index, std::string_view purpose, const Group& group,
                                   const CommunicatorHints& hints, std::span<const RegisteredBuffer> buffers) override;
  std::string link() const override;

  /// Transfers end by themselves; later calls of enqueue() throw.
  void abort() noexcept override { is_aborted_ = true; }

  /// The traffic since the last call. The device is idle. Throws MachineError.
  LinkReport report();
  /// The times of the transfers in the last report; transfers beyond a full table are missing.
  const std::vector<StampedTransfer>& stamps() const { return stamps_; }

  /// Repeats each shape of transfer that was enqueued and not repeated yet, with nothing else running, for
  /// alone_gb_per_s of later reports. Overwrites the memory of the transfers' outputs. Unreported earlier traffic is
  /// dropped. The device is idle. Throws MachineError.
  void measure_alone();

  /// Requests that are not met, one line each: work over the link then differs from its description.
  std::vector<std::string> unmet() const;

 private:
  class EmulatedChannel;

  /// What the host knows of one group of transfers on the link.
  struct Enqueued {
    double latency_us = 0;
    std::size_t shape = 0;  ///< in shapes_
    StampedTransfer stamp;
  };
  /// Transfers of one channel that differ only in their memory.
  struct TransferShape {
    EmulatedChannel* channel = nullptr;
    std::vector<LinkWork> works;  ///< the first of them
    bool has_fewer_sms = false;   ///< than the link
    std::optional<double> alone_gb_per_s = {};
    bool is_measured = false;
  };

  std::size_t shape_of(EmulatedChannel& channel, std::span<const LinkWork> works);
  LinkRecord* next_record(const Enqueued& enqueued);
  std::vector<LinkRecord> take_records();
  void forget(const EmulatedChannel& channel);
  void clear_records(std::size_t count);

  EmulatedLinkOptions options_;
  double ps_per_byte_ = 0;
  DeviceMemory<LinkState> state_;
  DeviceMemory<LinkRecord> records_;
  std::vector<Enqueued> enqueued_;  // of each record in use
  std::vector<TransferShape> shapes_;
  std::vector<StampedTransfer> stamps_;
  std::int64_t num_unrecorded_ = 0;
  bool has_copy_engines_ = false;  // requested by the link or by a communicator
  std::atomic<bool> is_aborted_ = false;
};

}  // namespace underlap::cuda
