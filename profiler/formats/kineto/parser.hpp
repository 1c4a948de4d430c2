// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/lanes.hpp"
#include "profiler/formats/kineto/splitter.hpp"

namespace underlap::formats {

/// Reads batches of events. One thread at a time.
///
/// A batch is read as one JSON array. If that fails, each event is read by itself. A rejected event is repaired (raw
/// control characters, wrong escapes, invalid UTF-8), and counted if that does not help.
class KinetoParser {
 public:
  explicit KinetoParser(KinetoLanes& lanes);
  ~KinetoParser();

  /// Replaces `into`. Writes around the batch's text.
  void parse(KinetoBatch& batch, KinetoEvents& into);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace underlap::formats
