// SPDX-License-Identifier: Apache-2.0
#include "impl/device/recording_device.hpp"

#include <algorithm>
#include <utility>

namespace underlap {

using Type = ProgramCommand::Type;

ProgramCommand& RecordingDevice::add(Type type, Stream stream, const Tag& tag) {
  ++num_on_stream_.at(stream.id);
  ProgramCommand& command = program_.commands.emplace_back();
  command.type = type;
  command.stream = stream.id;
  command.tag = tag;
  return command;
}

Stream RecordingDevice::create_stream(std::string_view name) {
  program_.streams.emplace_back(name);
  num_on_stream_.push_back(0);
  return {static_cast<std::uint32_t>(program_.streams.size() - 1)};
}

Tensor RecordingDevice::allocate(std::string_view, DataType dtype, std::int64_t elements) {
  return {++num_tensors_, dtype, elements};
}

Communicator RecordingDevice::declare(std::string_view purpose, const Group& group) {
  group_sizes_.push_back(group.size());
  return {static_cast<std::uint32_t>(group_sizes_.size() - 1), create_stream(purpose)};
}

void RecordingDevice::launch(Stream stream, const Tag& tag, const Operation& operation) {
  add(Type::launch, stream, tag).operation = operation;
}

void RecordingDevice::communicate(const Communicator& communicator, const Tag& tag,
                                  std::span<const Transfer> transfers) {
  ProgramCommand& command = add(Type::communicate, communicator.stream, tag);
  command.transfers.assign(transfers.begin(), transfers.end());
  command.group_size = group_sizes_.at(communicator.id);
}

Event RecordingDevice::record(Stream stream) {
  events_.push_back({stream.id, num_on_stream_.at(stream.id)});
  return {events_.size()};
}

void RecordingDevice::wait(Stream stream, Event event) {
  if (event.id == 0) return;
  const Position awaited = events_.at(event.id - 1);
  ProgramCommand& command = add(Type::wait, stream, {});
  command.awaited_stream = awaited.stream;
  command.awaited_position = awaited.position;
}

void RecordingDevice::upload(Stream stream, const Tag& tag, const View&, std::span<const std::byte> bytes) {
  add(Type::upload, stream, tag).bytes = static_cast<std::int64_t>(bytes.size());
}

void RecordingDevice::mark(Stream stream, std::int32_t, std::int32_t step) { add(Type::mark, stream, {.step = step}); }

void RecordingDevice::download(const View&, std::span<std::byte> bytes) {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
}

Program RecordingDevice::take_program() {
  Program taken{program_.streams, std::exchange(program_.commands, {})};
  std::fill(num_on_stream_.begin(), num_on_stream_.end(), 0);
  events_.clear();
  return taken;
}

}  // namespace underlap
