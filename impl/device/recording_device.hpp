// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap {

/// A device without memory that runs nothing and writes down everything: schedules as data.
class RecordingDevice : public Device {
 public:
  explicit RecordingDevice(Detail detail = Detail::uses) : detail_(detail) {}

  Stream create_stream(std::string_view name, Priority priority = Priority::normal) override;
  Tensor allocate(std::string_view name, DataType dtype, std::int64_t elements) override;
  Communicator declare(std::string_view purpose, const Group& group, const CommunicatorHints& hints = {}) override;
  void begin() override {}
  void launch(Stream stream, const Tag& tag, const Operation& operation) override;
  void communicate(const Communicator& communicator, const Tag& tag, std::span<const Transfer> transfers) override;
  Event record(Stream stream) override;
  void wait(Stream stream, Event event) override;
  void throttle(Stream stream, Event event) override;
  void acquire(Stream stream, const View& buffer) override;
  void release(Stream stream, const View& buffer) override;
  void upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) override;
  void mark(Stream stream, std::int32_t block, std::int32_t step) override;
  void synchronize(Event event) override;
  void synchronize() override;
  void host_work(HostWork work, Event after = {}) override;
  /// Fills `bytes` with zeros: there is nothing to read.
  void download(const View& source, std::span<std::byte> bytes) override;

  const Program& program() const { return program_; }
  /// Takes the commands so far; streams, tensors, communicators and costs stay, and so do events.
  Program take_program();

 private:
  ProgramCommand& add(ProgramCommand::Type type, Stream stream, const Tag& tag);
  void refuse_to_outgrow_memory() const;
  void add_use(ProgramCommand& command, const View& view, Access access);
  void add_wait(ProgramCommand::Type type, Stream stream, Event event);

  std::uint32_t number_of(const Cost& cost);

  struct CostHash {
    std::size_t operator()(const Cost& cost) const;
  };

  Detail detail_;
  Program program_;
  std::vector<std::uint64_t> num_on_stream_;
  std::unordered_map<Cost, std::uint32_t, CostHash> cost_numbers_;
};

}  // namespace underlap
