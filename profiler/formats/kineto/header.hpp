// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/formats/kineto/events.hpp"

namespace underlap::formats {

/// A process group as the members around the events describe it.
struct KinetoProcessGroup {
  std::string name;
  std::string description;
  std::int32_t size = 0;
  std::vector<std::int32_t> ranks;
};

/// The contents of the members around the events.
struct KinetoHeader {
  std::int64_t base_ns = 0;  ///< added to all times
  std::optional<std::int32_t> rank;
  std::map<KinetoId, std::int32_t> rank_of_process;  ///< of devices, where the format numbers them
  std::map<std::int64_t, std::string> device_names;  ///< by the device's number
  std::vector<KinetoProcessGroup> groups;
  std::map<std::string, std::string> metadata;  ///< "world_size", "nccl_version", "cuda_runtime_version", ...

  /// Takes one member, as it is written. Returns why it cannot be used; "" on success, or if the member is not needed.
  std::string_view take(std::string_view key, std::string_view value);
};

}  // namespace underlap::formats
