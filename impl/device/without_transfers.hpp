// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/device/device.hpp"

namespace underlap {

/// A device without transfers: everything else runs, on the same streams and after the same events.
///
/// A step on it is T_comp, the baseline for overlap. Its values are intentionally wrong: ranks drift apart.
class WithoutTransfers final : public Device {
 public:
  /// `device` outlives this.
  explicit WithoutTransfers(Device& device) : device_(device) {}

  Stream create_stream(std::string_view name, Priority priority) override {
    return device_.create_stream(name, priority);
  }
  Tensor allocate(std::string_view name, DataType dtype, std::int64_t elements) override {
    return device_.allocate(name, dtype, elements);
  }
  Communicator declare(std::string_view purpose, const Group& group, const CommunicatorHints& hints) override {
    return device_.declare(purpose, group, hints);
  }
  void begin() override { device_.begin(); }
  void launch(Stream stream, const Tag& tag, const Operation& operation) override {
    device_.launch(stream, tag, operation);
  }
  void communicate(const Communicator&, const Tag&, std::span<const Transfer>) override {}
  Event record(Stream stream) override { return device_.record(stream); }
  void wait(Stream stream, Event event) override { device_.wait(stream, event); }
  void throttle(Stream stream, Event event) override { device_.throttle(stream, event); }
  void acquire(Stream stream, const View& buffer) override { device_.acquire(stream, buffer); }
  void release(Stream stream, const View& buffer) override { device_.release(stream, buffer); }
  void upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) override {
    device_.upload(stream, tag, destination, bytes);
  }
  void mark(Stream stream, std::int32_t block, std::int32_t step) override { device_.mark(stream, block, step); }
  void synchronize(Event event) override { device_.synchronize(event); }
  void synchronize() override { device_.synchronize(); }
  void host_work(HostWork work, Event after) override { device_.host_work(work, after); }
  void download(const View& source, std::span<std::byte> bytes) override { device_.download(source, bytes); }

 private:
  Device& device_;
};

}  // namespace underlap
