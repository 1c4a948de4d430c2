// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "impl/device/device.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap {

/// A new [rows, cols] tensor.
View allocate_matrix(Device& device, std::string_view name, DataType dtype, std::int64_t rows, std::int64_t cols);

/// `num` rows, or columns, of a view from `first` on.
View rows_of(const View& view, std::int64_t first, std::int64_t num);
View columns_of(const View& view, std::int64_t first, std::int64_t num);

/// One message of an exchange; `peer` is an index in the group.
Transfer send_to(std::int32_t peer, const View& view);
Transfer receive_from(std::int32_t peer, const View& view);

/// That of the streams of communicators which are NCCL's in PyTorch.
Priority nccl_priority(const plan::Config& config);

/// The work of one mode around one rank's compute stream. It starts after the work that this stream holds and ends
/// before its next work.
///
///   compute | before |          | after        fork: other streams start after `before`
///   other            | | during |              join: `after` starts after them
///
/// Every order here is a wait that results depend on. `device` outlives this.
class Scope {
 public:
  Scope(Device& device, Stream compute, Mode mode) : device_(&device), compute_(compute), mode_(mode) {}

  /// `stream` waits for the current work of `other`. A stream always follows itself, here and below.
  void follow(Stream stream, Stream other) const;
  /// Later work of `streams` follows the current work of the compute stream.
  void fork(std::span<const Stream> streams) const;
  void fork(std::initializer_list<Stream> streams) const { fork(std::span(streams.begin(), streams.size())); }
  /// The compute stream waits for the current work of `streams`.
  void join(std::span<const Stream> streams) const;
  void join(std::initializer_list<Stream> streams) const { join(std::span(streams.begin(), streams.size())); }

  /// An operation that only the mode needs, for example a copy or a sum. `tag` gives everything except kind, mode and
  /// purpose, here and below.
  void launch(Stream stream, const Tag& tag, Kind kind, NameId purpose, const Operation& operation) const;
  void launch(const Tag& tag, Kind kind, NameId purpose, const Operation& operation) const {
    launch(compute_, tag, kind, purpose, operation);
  }

  /// Enqueues `transfers` as one group. The event passes when they are done.
  Event communicate(const Communicator& communicator, const Tag& tag, NameId purpose,
                    std::span<const Transfer> transfers) const;
  Event communicate(const Communicator& communicator, const Tag& tag, NameId purpose,
                    std::initializer_list<Transfer> transfers) const {
    return communicate(communicator, tag, purpose, std::span(transfers.begin(), transfers.size()));
  }

  /// The same between the current and the next work of the compute stream: fully exposed.
  void communicate_at_once(const Communicator& communicator, const Tag& tag, NameId purpose,
                           std::span<const Transfer> transfers) const;
  void communicate_at_once(const Communicator& communicator, const Tag& tag, NameId purpose,
                           std::initializer_list<Transfer> transfers) const {
    communicate_at_once(communicator, tag, purpose, std::span(transfers.begin(), transfers.size()));
  }

 private:
  Tag own(Tag tag, Kind kind, NameId purpose) const;

  Device* device_;
  Stream compute_;
  Mode mode_;
};

}  // namespace underlap
