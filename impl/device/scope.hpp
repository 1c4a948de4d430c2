// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <span>

#include "impl/device/device.hpp"

namespace underlap {

/// The work of one mode around one rank's compute stream: everything lies between what that stream holds and what it is
/// given next.
///
///   compute | before |          | after        fork: other streams start behind `before`
///   other            | | beside |              join: `after` starts behind them
///
/// Every order here is a wait, which results depend on. `device` outlives this.
class Scope {
 public:
  Scope(Device& device, Stream compute, Mode mode) : device_(&device), compute_(compute), mode_(mode) {}

  /// `stream` waits for what `other` holds now. A stream follows itself anyway, here as below.
  void follow(Stream stream, Stream other) const;
  /// From here on `streams` follow what the compute stream holds now.
  void fork(std::span<const Stream> streams) const;
  void fork(std::initializer_list<Stream> streams) const { fork(std::span(streams.begin(), streams.size())); }
  /// The compute stream waits for what `streams` hold now.
  void join(std::span<const Stream> streams) const;
  void join(std::initializer_list<Stream> streams) const { join(std::span(streams.begin(), streams.size())); }

  /// An operation of the mode's own: a copy or a sum that nobody would need without it. `tag` gives all but kind, mode
  /// and purpose, here as below.
  void launch(Stream stream, const Tag& tag, Kind kind, NameId purpose, const Operation& operation) const;
  void launch(const Tag& tag, Kind kind, NameId purpose, const Operation& operation) const {
    launch(compute_, tag, kind, purpose, operation);
  }

  /// `transfers` as one group. Returns when they are done.
  Event communicate(const Communicator& communicator, const Tag& tag, NameId purpose,
                    std::span<const Transfer> transfers) const;
  Event communicate(const Communicator& communicator, const Tag& tag, NameId purpose,
                    std::initializer_list<Transfer> transfers) const {
    return communicate(communicator, tag, purpose, std::span(transfers.begin(), transfers.size()));
  }

  /// The same between what the compute stream holds and what it is given next: exposed whole.
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
