// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/time_model.hpp"

#include <utility>

namespace underlap::sim {

namespace {

CallPart message_part(const Transfer& message, std::uint32_t place, const Group& group) {
  const bool sends = message.collective == Collective::send;
  const std::int32_t me = group.members[static_cast<std::size_t>(group.my_index)];
  const std::int32_t peer = group.members[static_cast<std::size_t>(message.peer)];
  return {.is_collective = false,
          .sends = sends,
          .receives = !sends,
          .transfers = {place},
          .members = {sends ? me : peer, sends ? peer : me}};
}

}  // namespace

TransferShape shape_of(const Transfer& t) {
  return {.collective = t.collective, .dtype = dtype_of(t), .bytes = message_bytes(t), .peer = t.peer};
}

std::vector<CallPart> parts_of(const Program& program, const ProgramCommand& call) {
  const Group& group = program.communicators[call.communicator].group;
  const std::span<const Transfer> transfers = program.transfers(call);
  std::vector<CallPart> parts;
  CallPart collectives{.transfers = {}, .members = group.members};
  for (std::uint32_t i = 0; i < transfers.size(); ++i)
    if (is_message(transfers[i].collective))
      parts.push_back(message_part(transfers[i], i, group));
    else
      collectives.transfers.push_back(i);
  if (!collectives.transfers.empty()) parts.push_back(std::move(collectives));
  return parts;
}

TransferTime time_of(const TimeModel& time, const Program& program, const ProgramCommand& call, const CallPart& part) {
  const std::span<const Transfer> transfers = program.transfers(call);
  std::vector<TransferShape> shapes;
  for (const std::uint32_t i : part.transfers) shapes.push_back(shape_of(transfers[i]));
  // A message is between two: its peer is the other one.
  if (!part.is_collective) shapes[0].peer = part.sends ? 1 : 0;
  return time.transfers(shapes, part.members, program.communicators[call.communicator].hints);
}

std::int64_t whole_ns(double ns) {
  return ns <= static_cast<double>(kEndOfTime) ? static_cast<std::int64_t>(ns + 0.5) : 2 * kEndOfTime;
}

}  // namespace underlap::sim
