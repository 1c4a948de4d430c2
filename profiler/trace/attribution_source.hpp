// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profiler/trace/name.hpp"

namespace underlap {

/// The source of a communication's mode, or why a kernel counts as compute although it may communicate.
enum class AttributionSource : std::uint8_t {
  tag,             ///< set where the operation was enqueued
  mode_map,        ///< the user's own table
  group_name,      ///< what the process group or communicator is called
  group_geometry,  ///< which ranks the group holds
  annotation,      ///< the range in which it was launched
  kernel_name,     ///< a library that serves one mode alone
  rhythm,          ///< how often it runs, and next to which kernels
  none,            ///< nothing: the mode is not known
  fused,           ///< the kernel computes and communicates; it counts as compute
  unclassified     ///< the kernel may be communication; it counts as compute
};

std::string_view to_string(AttributionSource);
constexpr AttributionSource last_value(AttributionSource) { return AttributionSource::unclassified; }
std::optional<AttributionSource> attribution_source_from(std::string_view);

/// Where the mode of a slice's tag comes from, and how far it can be trusted.
struct Attribution {
  AttributionSource source = AttributionSource::tag;
  std::uint8_t confidence_pct = 100;  ///< of all communication that was attributed for such a reason, the part right
  NameId reason = kNoName;            ///< one sentence for a person; empty if the tag itself has the mode

  friend bool operator==(const Attribution&, const Attribution&) = default;
};

/// As readers of traces of other programs leave it: the mode is not known.
inline constexpr Attribution kNotAttributed{AttributionSource::none, 0, kNoName};

}  // namespace underlap
