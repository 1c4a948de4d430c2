// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "impl/device/recording_device.hpp"

namespace underlap {

/// An operation and the stream that it is launched on.
struct Launch {
  Stream stream;
  Operation operation;
};

/// A device that runs nothing and keeps the first launch of each kind: a stream, an operation, and the shapes and
/// alignment of its views. At the first run of an operation, a library selects and compiles once for each kind.
///
/// Streams and tensors are numbered as on any device that gets the same calls.
class DistinctLaunches final : public RecordingDevice {
 public:
  DistinctLaunches() : RecordingDevice(Detail::costs) {}

  void launch(Stream stream, const Tag& tag, const Operation& operation) override;

  /// In the order of their first launches.
  std::vector<Launch> take() { return std::move(launches_); }

 private:
  std::set<std::string> seen_;
  std::vector<Launch> launches_;
};

}  // namespace underlap
