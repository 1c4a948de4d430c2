// SPDX-License-Identifier: Apache-2.0
#include "impl/device/scope.hpp"

namespace underlap {

void Scope::follow(Stream stream, Stream other) const {
  if (stream.id != other.id) device_->wait(stream, device_->record(other));
}

void Scope::fork(std::span<const Stream> streams) const {
  const Event now = device_->record(compute_);
  for (const Stream stream : streams)
    if (stream.id != compute_.id) device_->wait(stream, now);
}

void Scope::join(std::span<const Stream> streams) const {
  for (const Stream stream : streams) follow(compute_, stream);
}

Tag Scope::own(Tag tag, Kind kind, NameId purpose) const {
  tag.kind = kind;
  tag.mode = mode_;
  tag.purpose = purpose;
  return tag;
}

void Scope::launch(Stream stream, const Tag& tag, Kind kind, NameId purpose, const Operation& operation) const {
  device_->launch(stream, own(tag, kind, purpose), operation);
}

Event Scope::communicate(const Communicator& communicator, const Tag& tag, NameId purpose,
                         std::span<const Transfer> transfers) const {
  device_->communicate(communicator, own(tag, Kind::communication, purpose), transfers);
  return device_->record(communicator.stream);
}

void Scope::communicate_at_once(const Communicator& communicator, const Tag& tag, NameId purpose,
                                std::span<const Transfer> transfers) const {
  fork({communicator.stream});
  device_->wait(compute_, communicate(communicator, tag, purpose, transfers));
}

}  // namespace underlap
