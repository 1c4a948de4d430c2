// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "impl/device/scope.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap::cp {

/// The context-parallel group of one rank, and the streams and communicators that all of its layers share.
///
/// Made before Device::begin(), by all ranks in the same order: what it holds is made when it is first asked for.
class Communicators {
 public:
  Communicators(Device& device, const Group& group, Stream compute, const plan::Config& config);
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  Device& device() const { return device_; }
  const Group& group() const { return group_; }
  Stream compute() const { return compute_; }
  Scope scope() const { return {device_, compute_, Mode::cp}; }

  /// The second stream that attention computes on (Transformer Engine's cp_stream): one for the group and its parts.
  Stream second_compute();
  /// NCCL's, for all-gathers, reduce-scatters and all-to-alls.
  Communicator collectives();
  /// For the hops of a ring.
  Communicator ring();

  /// The group as rows of a table: `inside` one are `ranks_inside` neighbors, and `around` the rows go those of one
  /// column.
  struct Parts {
    Communicators* inside = nullptr;
    Communicators* around = nullptr;
  };
  Parts parts(std::int32_t ranks_inside);

 private:
  Communicators(Communicators& whole, const Group& group, std::string name);
  Communicator declare(std::string_view suffix);

  Communicators* whole_;  // itself, or what it is a part of
  Device& device_;
  Group group_;
  Stream compute_;
  Priority nccl_priority_;
  std::string name_ = "cp";  // of its communicators, the beginning
  std::map<std::string, Communicator, std::less<>> declared_;
  std::map<std::int32_t, std::pair<std::unique_ptr<Communicators>, std::unique_ptr<Communicators>>>
      parts_;  // by ranks inside
  Stream second_compute_;
  bool has_second_compute_ = false;
};

}  // namespace underlap::cp
