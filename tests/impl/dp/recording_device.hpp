// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap {

/// A device that does nothing and writes down what it is told, one line a command: a technique's schedule as text.
class RecordingDevice final : public Device {
 public:
  std::vector<std::string> log;

  Stream create_stream(std::string_view name) override {
    streams_.emplace_back(name);
    return {static_cast<std::uint32_t>(streams_.size() - 1)};
  }
  Tensor allocate(std::string_view, DataType dtype, std::int64_t elements) override {
    return {++num_tensors_, dtype, elements};
  }
  Communicator declare(std::string_view purpose, const Group&) override {
    return {num_communicators_++, create_stream(purpose)};
  }
  void begin() override {}
  void launch(Stream stream, const Tag& tag, const Operation&) override {
    log.push_back(fmt::format("{}: {} {}", streams_[stream.id], name_of(tag.purpose), tag.chunk));
  }
  void communicate(const Communicator& communicator, const Tag& tag, std::span<const Transfer> transfers) override {
    std::string line = fmt::format("{}: {}", streams_[communicator.stream.id], name_of(tag.purpose));
    for (const Transfer& t : transfers) line += fmt::format(" {}+{}", t.input.offset, t.input.elements());
    log.push_back(line);
  }
  Event record(Stream stream) override {
    recorded_on_.push_back(stream.id);
    return {recorded_on_.size()};
  }
  void wait(Stream stream, Event event) override {
    log.push_back(fmt::format("{} waits for {}", streams_[stream.id], streams_[recorded_on_[event.id - 1]]));
  }
  void upload(Stream, const Tag&, const View&, std::span<const std::byte>) override {}
  void mark(Stream stream, std::int32_t, std::int32_t) override { log.push_back(streams_[stream.id] + ": mark"); }
  void synchronize(Event) override {}
  void synchronize() override {}
  void download(const View&, std::span<std::byte>) override {}

 private:
  std::vector<std::string> streams_;
  std::vector<std::uint32_t> recorded_on_;  // by event id - 1
  std::uint32_t num_tensors_ = 0;
  std::uint32_t num_communicators_ = 0;
};

}  // namespace underlap
