// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap {

/// One thing that a rank's program told its device.
struct ProgramCommand {
  enum class Type : std::uint8_t { launch, communicate, upload, wait, mark };

  Type type = Type::launch;
  std::uint32_t stream = 0;
  Tag tag;
  std::optional<Operation> operation;  ///< of a launch
  std::vector<Transfer> transfers;     ///< of a communicate
  std::int32_t group_size = 0;         ///< of a communicate
  std::int64_t bytes = 0;              ///< of an upload
  std::uint32_t awaited_stream = 0;    ///< of a wait: it waits until that stream has run ...
  std::size_t awaited_position = 0;    ///< ... this many commands
};

/// What a rank told its device, in order. Positions count the commands of one stream.
struct Program {
  std::vector<std::string> streams;
  std::vector<ProgramCommand> commands;
};

/// A device without memory that runs nothing and writes down everything: schedules as data.
class RecordingDevice final : public Device {
 public:
  Stream create_stream(std::string_view name) override;
  Tensor allocate(std::string_view name, DataType dtype, std::int64_t elements) override;
  Communicator declare(std::string_view purpose, const Group& group) override;
  void begin() override {}
  void launch(Stream stream, const Tag& tag, const Operation& operation) override;
  void communicate(const Communicator& communicator, const Tag& tag, std::span<const Transfer> transfers) override;
  Event record(Stream stream) override;
  void wait(Stream stream, Event event) override;
  void upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) override;
  void mark(Stream stream, std::int32_t block, std::int32_t step) override;
  void synchronize(Event) override {}
  void synchronize() override {}
  /// Fills `bytes` with zeros: there is nothing to read.
  void download(const View& source, std::span<std::byte> bytes) override;

  const Program& program() const { return program_; }
  /// Takes what was recorded so far; streams stay. Events recorded before must not be waited for afterwards.
  Program take_program();

 private:
  struct Position {
    std::uint32_t stream = 0;
    std::size_t position = 0;
  };

  ProgramCommand& add(ProgramCommand::Type type, Stream stream, const Tag& tag);

  Program program_;
  std::vector<std::size_t> num_on_stream_;
  std::vector<std::int32_t> group_sizes_;  // by communicator
  std::vector<Position> events_;           // by event id - 1
  std::uint32_t num_tensors_ = 0;
};

}  // namespace underlap
