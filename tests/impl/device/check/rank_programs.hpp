// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "impl/device/check/check.hpp"
#include "impl/device/recording_device.hpp"
#include "tests/impl/device/device_testing.hpp"

namespace underlap::check {

using testing_support::all_reduce_of;
using testing_support::receive_from;
using testing_support::send_to;

/// A few ranks whose programs a test writes by hand. Every rank has the streams "a" and "b" and the tensor "x" of 64
/// elements, which a launch on "a" has written.
class RankPrograms {
 public:
  struct Rank {
    RecordingDevice device;
    Stream a;
    Stream b;
    Tensor x;

    void launch(Stream stream, std::string_view name, std::initializer_list<Use> uses) {
      device.launch(stream, {.purpose = intern(name)}, Operation(intern(name), nullptr, {}, uses));
    }
    void write(Stream stream, std::string_view name, const View& view) { launch(stream, name, {{view, Access::out}}); }
    void read(Stream stream, std::string_view name, const View& view) { launch(stream, name, {{view, Access::in}}); }
    void order(Stream later, Stream earlier) { device.wait(later, device.record(earlier)); }

    void communicate(const Communicator& communicator, std::string_view purpose, const std::vector<Transfer>& transfers,
                     Mode mode = Mode::other) {
      device.communicate(communicator, {.kind = Kind::communication, .mode = mode, .purpose = intern(purpose)},
                         transfers);
    }
    void all_reduce(const Communicator& communicator, std::string_view purpose, const View& view) {
      communicate(communicator, purpose, {all_reduce_of(view)});
    }
    void send(const Communicator& communicator, std::string_view purpose, std::int32_t peer, const View& view) {
      communicate(communicator, purpose, {send_to(peer, view)});
    }
    void receive(const Communicator& communicator, std::string_view purpose, std::int32_t peer, const View& view) {
      communicate(communicator, purpose, {receive_from(peer, view)});
    }
  };

  explicit RankPrograms(std::int32_t size) {
    for (std::int32_t i = 0; i < size; ++i) {
      Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>());
      rank.a = rank.device.create_stream("a");
      rank.b = rank.device.create_stream("b");
      rank.x = rank.device.allocate("x", DataType::f32, 64);
      rank.write(rank.a, "begin", flat(rank.x));
    }
  }

  Rank& operator[](std::int32_t rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  std::int32_t size() const { return static_cast<std::int32_t>(ranks_.size()); }

  Group group(std::int32_t me) const { return testing_support::group_of(size(), me); }

  /// Declares `purpose` for all ranks on each; by rank.
  std::vector<Communicator> declare(std::string_view purpose) {
    std::vector<Communicator> communicators;
    for (std::int32_t i = 0; i < size(); ++i) communicators.push_back((*this)[i].device.declare(purpose, group(i)));
    return communicators;
  }

  CheckReport report(const CheckOptions& options = {}) const {
    std::vector<Program> programs;
    for (const auto& rank : ranks_) programs.push_back(rank->device.program());
    return check_programs(programs, options);
  }

  /// "kind: what | remedy" of each finding.
  std::vector<std::string> findings(const CheckOptions& options = {}) const {
    std::vector<std::string> lines;
    for (const Finding& finding : report(options).findings)
      lines.push_back(std::string(to_string(finding.kind)) + ": " + finding.what + " | " + finding.remedy);
    return lines;
  }

 private:
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace underlap::check
