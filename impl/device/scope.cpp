// SPDX-License-Identifier: Apache-2.0
#include "impl/device/scope.hpp"

#include "impl/plan/config.hpp"

namespace underlap {

View allocate_matrix(Device& device, std::string_view name, DataType dtype, std::int64_t rows, std::int64_t cols) {
  return matrix(device.allocate(name, dtype, rows * cols), rows, cols);
}

View rows_of(const View& view, std::int64_t first, std::int64_t num) {
  View part = view;
  part.offset += first * view.leading_dimension;
  part.rows = num;
  return part;
}

View columns_of(const View& view, std::int64_t first, std::int64_t num) {
  View part = view;
  part.offset += first;
  part.cols = num;
  return part;
}

Transfer send_to(std::int32_t peer, const View& view) {
  return {.collective = Collective::send, .input = view, .output = {}, .peer = peer};
}

Transfer receive_from(std::int32_t peer, const View& view) {
  return {.collective = Collective::receive, .input = {}, .output = view, .peer = peer};
}

Priority nccl_priority(const plan::Config& config) {
  return config.environment.torch_nccl_high_priority ? Priority::high : Priority::normal;
}

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
