// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/call_times.hpp"

#include <algorithm>
#include <cstdint>

namespace underlap::sim {

const CallTimes::Call& CallTimes::of(const Program& program, const ProgramCommand& call) {
  shapes_.clear();
  for (const Transfer& transfer : program.transfers(call)) shapes_.push_back(shape_of(transfer));
  if (known_.size() <= call.communicator) known_.resize(program.communicators.size());
  const auto [entry, is_new] = known_[call.communicator].try_emplace(shapes_);
  Call& known = entry->second;
  if (!is_new) return known;
  known.parts = parts_of(program, call);
  for (const CallPart& part : known.parts) {
    known.times.push_back(time_of(time_, program, call, part));
    known.sms = std::max(known.sms, known.times.back().sms);
  }
  return known;
}

std::size_t CallTimes::Hash::operator()(const Shapes& shapes) const {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = 0;
  for (const TransferShape& shape : shapes) {
    const std::uint64_t what = (static_cast<std::uint64_t>(shape.collective) << 40) |
                               (static_cast<std::uint64_t>(shape.dtype) << 32) | static_cast<std::uint32_t>(shape.peer);
    hash = (((hash ^ what) * kOdd) ^ static_cast<std::uint64_t>(shape.bytes)) * kOdd;
  }
  return hash ^ (hash >> 32);
}

}  // namespace underlap::sim
