// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace underlap {

/// What leads from one slice to another.
enum class FlowKind : std::uint8_t {
  launch,      ///< from the call to the work that it enqueued
  message,     ///< from a send to its receive
  collective,  ///< from the member that arrived last to another member of the same collective
  dependency,  ///< from the work after which an event was recorded to the wait for it, or to the work that waited
  resource,    ///< from work that held a device's multiprocessors, or its hardware queue, to the work that took over
  host         ///< from work that the host waited for to work that started as soon as the host had enqueued it
};

std::string_view to_string(FlowKind);
std::optional<FlowKind> flow_kind_from(std::string_view);

/// An arrow between two slices of a trace.
struct Flow {
  std::uint32_t from = 0;  ///< index of a slice
  std::uint32_t to = 0;    ///< index of a slice
  FlowKind kind = FlowKind::launch;

  friend bool operator==(const Flow&, const Flow&) = default;
};

}  // namespace underlap
