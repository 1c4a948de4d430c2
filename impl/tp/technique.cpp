// SPDX-License-Identifier: Apache-2.0
#include "impl/tp/technique.hpp"

#include <fmt/format.h>

namespace underlap::tp {

NameId Site::purpose(std::string_view what) const { return intern(fmt::format("{}_{}", slot, what)); }

View Site::allocate_whole() const {
  if (is_in_place()) return {};
  return matrix(channels->device().allocate(slot, dtype, tokens * features), tokens, features);
}

Transfer Site::transfer(const View& part, const View& whole) const {
  if (is_in_place()) return {.collective = collective, .input = part, .output = part};
  return {.collective = collective, .input = gathers() ? part : whole, .output = gathers() ? whole : part};
}

View rows_of(const View& view, std::int64_t first, std::int64_t num) {
  View part = view;
  part.offset += first * view.leading_dimension;
  part.rows = num;
  return part;
}

Transfer send_to(std::int32_t peer, const View& view) {
  return {.collective = Collective::send, .input = view, .output = {}, .peer = peer};
}

Transfer receive_from(std::int32_t peer, const View& view) {
  return {.collective = Collective::receive, .input = {}, .output = view, .peer = peer};
}

void Lanes::fork(std::initializer_list<Stream> streams) { fork(std::span(streams.begin(), streams.size())); }
void Lanes::join(std::initializer_list<Stream> streams) { join(std::span(streams.begin(), streams.size())); }

void Lanes::fork(std::span<const Stream> streams) {
  const Event now = device_.record(channels_.compute());
  for (const Stream stream : streams) device_.wait(stream, now);
}

void Lanes::join(std::span<const Stream> streams) {
  for (const Stream stream : streams) device_.wait(channels_.compute(), device_.record(stream));
}

void Lanes::launch(const Tag& tag, Kind kind, NameId purpose, const Operation& operation) {
  Tag own = tag;
  own.kind = kind;
  own.mode = Mode::tp;
  own.purpose = purpose;
  device_.launch(channels_.compute(), own, operation);
}

Event Lanes::communicate(const Communicator& communicator, const Tag& tag, NameId purpose,
                         std::initializer_list<Transfer> transfers) {
  Tag own = tag;
  own.kind = Kind::communication;
  own.mode = Mode::tp;
  own.purpose = purpose;
  device_.communicate(communicator, own, transfers);
  return device_.record(communicator.stream);
}

}  // namespace underlap::tp
