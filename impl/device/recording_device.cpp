// SPDX-License-Identifier: Apache-2.0
#include "impl/device/recording_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/memory_room.hpp"

namespace underlap {
namespace {

using Type = ProgramCommand::Type;

constexpr std::int64_t kWorthAsking = std::int64_t{32} << 20;  // bytes; asking the system takes a millisecond
constexpr int kPositionBits = 40;                              // an event's id: the stream above, its position below

void set_awaited(ProgramCommand& command, Event event) {
  command.awaited_stream = static_cast<std::uint32_t>((event.id >> kPositionBits) - 1);
  command.awaited_position = event.id & ((std::uint64_t{1} << kPositionBits) - 1);
}

}  // namespace

ProgramCommand& RecordingDevice::add(Type type, Stream stream, const Tag& tag) {
  if (program_.commands.size() == program_.commands.capacity()) refuse_to_outgrow_memory();
  ProgramCommand& command = program_.commands.emplace_back();
  command.type = type;
  command.stream = stream.id;
  command.tag = tag;
  command.first = static_cast<std::uint32_t>(program_.all_uses.size());
  if (command.is_on_stream()) ++num_on_stream_.at(stream.id);
  return command;
}

// The list of commands is about to double.
void RecordingDevice::refuse_to_outgrow_memory() const {
  const auto doubled = static_cast<std::int64_t>(2 * program_.commands.size() * sizeof(ProgramCommand));
  if (doubled < kWorthAsking) return;
  require_memory(
      doubled,
      fmt::format(
          "a step of {} commands per rank so far, and more to come (fewer layers or microbatches make it shorter)",
          program_.commands.size()));
}

void RecordingDevice::add_use(ProgramCommand& command, const View& view, Access access) {
  if (detail_ == Detail::costs) return;
  program_.all_uses.push_back({view, access});
  ++command.count;
}

Stream RecordingDevice::create_stream(std::string_view name, Priority priority) {
  program_.streams.push_back({std::string(name), priority});
  program_.first_positions.push_back(0);
  num_on_stream_.push_back(0);
  return {static_cast<std::uint32_t>(program_.streams.size() - 1)};
}

Tensor RecordingDevice::allocate(std::string_view name, DataType dtype, std::int64_t elements) {
  program_.tensors.push_back({std::string(name), dtype, elements});
  return {static_cast<std::uint32_t>(program_.tensors.size()), dtype, elements};
}

Communicator RecordingDevice::declare(std::string_view purpose, const Group& group, const CommunicatorHints& hints) {
  const Stream stream = create_stream(purpose, hints.priority);
  program_.communicators.push_back({std::string(purpose), group, hints, stream.id});
  return {static_cast<std::uint32_t>(program_.communicators.size() - 1), stream};
}

void RecordingDevice::launch(Stream stream, const Tag& tag, const Operation& operation) {
  ProgramCommand& command = add(Type::launch, stream, tag);
  command.name = operation.name();
  command.cost = number_of(operation.cost());
  for (const Use& use : operation.uses()) add_use(command, use.view, use.access);
  if (detail_ != Detail::operations) return;
  command.data = static_cast<std::uint32_t>(program_.operations.size());
  program_.operations.push_back(operation);
}

// A step has thousands of launches and some tens of costs.
std::uint32_t RecordingDevice::number_of(const Cost& cost) {
  const auto [entry, is_new] = cost_numbers_.try_emplace(cost, static_cast<std::uint32_t>(program_.costs.size()));
  if (is_new) program_.costs.push_back(cost);
  return entry->second;
}

std::size_t RecordingDevice::CostHash::operator()(const Cost& cost) const {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = 0;
  for (const std::int64_t part : {cost.bytes_read, cost.bytes_written, cost.extent[0], cost.extent[1], cost.extent[2],
                                  std::int64_t{cost.sms}, std::int64_t{cost.sm_margin}})
    hash = (hash ^ static_cast<std::uint64_t>(part)) * kOdd;
  return hash ^ (hash >> 32);
}

void RecordingDevice::communicate(const Communicator& communicator, const Tag& tag,
                                  std::span<const Transfer> transfers) {
  ProgramCommand& command = add(Type::communicate, communicator.stream, tag);
  command.communicator = communicator.id;
  command.first = static_cast<std::uint32_t>(program_.all_transfers.size());
  command.count = static_cast<std::uint32_t>(transfers.size());
  program_.all_transfers.insert(program_.all_transfers.end(), transfers.begin(), transfers.end());
}

Event RecordingDevice::record(Stream stream) {
  return {(static_cast<std::uint64_t>(stream.id + 1) << kPositionBits) | num_on_stream_.at(stream.id)};
}

void RecordingDevice::add_wait(Type type, Stream stream, Event event) {
  if (event.id != 0) set_awaited(add(type, stream, {}), event);
}

void RecordingDevice::wait(Stream stream, Event event) { add_wait(Type::wait, stream, event); }

void RecordingDevice::throttle(Stream stream, Event event) { add_wait(Type::throttle, stream, event); }

void RecordingDevice::synchronize(Event event) { add_wait(Type::synchronize, {}, event); }

void RecordingDevice::synchronize() { add(Type::synchronize, {}, {}).awaited_stream = ProgramCommand::kAllStreams; }

void RecordingDevice::host_work(HostWork work, Event after) {
  ProgramCommand& command = add(Type::host_work, {}, {});
  command.work = work;
  if (after.id != 0) set_awaited(command, after);
}

void RecordingDevice::acquire(Stream stream, const View& buffer) {
  if (detail_ == Detail::costs) return;
  add_use(add(Type::acquire, stream, {}), buffer, Access::out);
}

void RecordingDevice::release(Stream stream, const View& buffer) {
  if (detail_ == Detail::costs) return;
  add_use(add(Type::release, stream, {}), buffer, Access::out);
}

void RecordingDevice::upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) {
  ProgramCommand& command = add(Type::upload, stream, tag);
  command.bytes = static_cast<std::int64_t>(bytes.size());
  add_use(command, destination, Access::out);
  if (detail_ != Detail::operations) return;
  command.data = static_cast<std::uint32_t>(program_.uploads.size());
  program_.uploads.emplace_back(bytes.begin(), bytes.end());
}

void RecordingDevice::mark(Stream stream, std::int32_t block, std::int32_t step) {
  add(Type::mark, stream, {.step = step}).block = block;
}

void RecordingDevice::download(const View& source, std::span<std::byte> bytes) {
  add_use(add(Type::download, {}, {}), source, Access::in);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
}

Program RecordingDevice::take_program() {
  Program rest{.streams = program_.streams,
               .tensors = program_.tensors,
               .communicators = program_.communicators,
               .first_positions = num_on_stream_,
               .costs = program_.costs,
               .commands = {},
               .all_transfers = {},
               .all_uses = {},
               .operations = {},
               .uploads = {}};
  rest.commands.reserve(program_.commands.size());  // the next piece is most often as long
  rest.all_transfers.reserve(program_.all_transfers.size());
  return std::exchange(program_, std::move(rest));
}

std::int64_t Program::bytes() const {
  const auto of = [](const auto& list) { return static_cast<std::int64_t>(list.size() * sizeof(list[0])); };
  std::int64_t sum = of(streams) + of(tensors) + of(communicators) + of(costs) + of(commands) + of(all_transfers) +
                     of(all_uses) + of(operations) + of(uploads);
  for (const ProgramCommunicator& communicator : communicators) sum += of(communicator.group.members);
  for (const std::vector<std::byte>& upload : uploads) sum += of(upload);
  return sum;
}

namespace {

std::string place_of(const Tag& tag) {
  std::string text;
  const auto add = [&text](const char* what, std::int32_t value) {
    if (value >= 0) text += fmt::format(" {} {}", what, value);
  };
  add("layer", tag.layer);
  add("microbatch", tag.microbatch);
  add("bucket", tag.bucket);
  add("chunk", tag.chunk);
  add("step", tag.step);
  return text;
}

}  // namespace

std::string describe(const Program& program, const ProgramCommand& command) {
  const auto stream = [&](std::uint32_t id) -> std::string_view { return program.streams.at(id).name; };
  const auto what = [&] {
    return command.tag.purpose == kNoName ? name_of(command.name) : name_of(command.tag.purpose);
  };
  switch (command.type) {
    case Type::wait:
    case Type::throttle: return fmt::format("{}: wait for {}", stream(command.stream), stream(command.awaited_stream));
    case Type::mark: return fmt::format("{}: end of step {}", stream(command.stream), command.tag.step);
    case Type::acquire: return fmt::format("{}: acquire", stream(command.stream));
    case Type::release: return fmt::format("{}: release", stream(command.stream));
    case Type::synchronize:
      if (command.awaited_stream == ProgramCommand::kAllStreams) return "host: wait for all streams";
      return fmt::format("host: wait for {}", stream(command.awaited_stream));
    case Type::download: return "host: download";
    case Type::host_work: return "host: its own work";
    default: return fmt::format("{}: {}{}", stream(command.stream), what(), place_of(command.tag));
  }
}

}  // namespace underlap
