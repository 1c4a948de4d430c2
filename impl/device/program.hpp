// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap {

/// One command of a rank's program to its device. 88 bytes: a simulated cluster holds millions.
struct ProgramCommand {
  enum class Type : std::uint8_t {
    launch,
    communicate,
    upload,
    wait,      ///< an order that results depend on
    throttle,  ///< an order that only time depends on
    mark,      ///< the end of a step
    acquire,   ///< of a buffer that is used again
    release,
    synchronize,  ///< the host waits; on no stream
    download,     ///< the host reads; on no stream
    host_work,    ///< host work of the emulated framework, after what it awaits; on no stream
  };
  static constexpr std::uint32_t kAllStreams = ~std::uint32_t{0};

  Type type = Type::launch;
  HostWork work{};  ///< of host_work
  std::uint32_t stream = 0;
  NameId name = kNoName;    ///< of a launch: the operation's
  Tag tag;                  ///< of a mark: the step
  std::int32_t block = 0;   ///< of a mark
  std::uint32_t first = 0;  ///< index of its first use, or of its first transfer
  std::uint32_t count = 0;  ///< of uses or transfers
  std::uint32_t data = 0;   ///< index into operations (of a launch) or uploads; see Detail
  std::uint32_t cost = 0;   ///< of a launch: index into costs
  std::uint32_t communicator = 0;
  std::uint32_t awaited_stream = 0;    ///< of a wait, synchronize or host_work: until that stream (or all of them) ...
  std::uint64_t awaited_position = 0;  ///< ... has run this many commands, counted from the device's first
  std::int64_t bytes = 0;              ///< of an upload

  /// Whether it takes a place in its stream.
  bool is_on_stream() const { return type != Type::synchronize && type != Type::download && type != Type::host_work; }
};

/// What one rank's device holds and is connected to.
struct ProgramStream {
  std::string name;
  Priority priority = Priority::normal;
};
struct ProgramTensor {
  std::string name;
  DataType dtype = DataType::f32;
  std::int64_t elements = 0;
};
struct ProgramCommunicator {
  std::string purpose;
  Group group;
  CommunicatorHints hints;
  std::uint32_t stream = 0;
};

/// The commands of a rank to its device, in the order of the calls. Indices of streams, tensors (id - 1) and
/// communicators are those of the device's handles.
struct Program {
  std::vector<ProgramStream> streams;
  std::vector<ProgramTensor> tensors;
  std::vector<ProgramCommunicator> communicators;
  std::vector<std::uint64_t> first_positions;  ///< by stream: commands that the device was given before this program
  std::vector<Cost> costs;                     ///< of all launches that the device was given, each once

  std::vector<ProgramCommand> commands;
  std::vector<Transfer> all_transfers;
  std::vector<Use> all_uses;          ///< of launches, uploads (out), downloads (in), acquires and releases (out)
  std::vector<Operation> operations;  ///< of the launches
  std::vector<std::vector<std::byte>> uploads;

  std::span<const Transfer> transfers(const ProgramCommand& c) const {
    if (c.type != ProgramCommand::Type::communicate) return {};
    return std::span(all_transfers).subspan(c.first, c.count);
  }
  /// Of anything but a launch nothing.
  Cost cost(const ProgramCommand& c) const { return c.type == ProgramCommand::Type::launch ? costs[c.cost] : Cost{}; }
  std::span<const Use> uses(const ProgramCommand& c) const {
    if (c.type == ProgramCommand::Type::communicate || all_uses.empty()) return {};
    return std::span(all_uses).subspan(c.first, c.count);
  }
  /// Memory that it takes.
  std::int64_t bytes() const;
  std::int32_t group_size(const ProgramCommand& c) const { return communicators[c.communicator].group.size(); }
};

/// How much of each command a program keeps.
enum class Detail : std::uint8_t {
  costs,       ///< enough for time
  uses,        ///< and for proofs about memory: all_uses
  operations,  ///< and for computing it: operations, uploads
};

/// "dp: param_all_gather bucket 2 step 1": a command as messages name it.
std::string describe(const Program& program, const ProgramCommand& command);

}  // namespace underlap
