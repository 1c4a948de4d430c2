// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/splitter.hpp"

namespace underlap::formats {

/// Numbers the lanes of a file. Any thread may ask.
class KinetoLanes {
 public:
  /// The index of the lane, adding it where it is new.
  std::uint32_t index_of(const KinetoLane& lane) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = indices_.try_emplace(lane, static_cast<std::uint32_t>(lanes_.size()));
    if (is_new) lanes_.push_back(lane);
    return found->second;
  }

  KinetoLane lane(std::uint32_t index) const {
    const std::lock_guard lock(mutex_);
    return lanes_.at(index);
  }

 private:
  mutable std::mutex mutex_;
  std::map<KinetoLane, std::uint32_t> indices_;
  std::vector<KinetoLane> lanes_;
};

/// Reads batches of events. One thread at a time.
///
/// A batch is read as one JSON array. If that fails, each event is read by itself. A rejected event is repaired (raw
/// control characters, wrong escapes, invalid UTF-8), and counted if that does not help.
class KinetoParser {
 public:
  /// `reads_foreign`: reads arguments of other tools, too.
  explicit KinetoParser(KinetoLanes& lanes, bool reads_foreign = false);
  ~KinetoParser();

  /// Replaces `into`. Writes around the batch's text.
  void parse(KinetoBatch& batch, KinetoEvents& into);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace underlap::formats
