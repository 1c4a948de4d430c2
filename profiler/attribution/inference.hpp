// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiler/attribution/channels.hpp"
#include "profiler/attribution/group_geometry.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

/// The mode of a channel, inferred from its ranks and its rhythm.
struct Inference {
  Mode mode = Mode::none;
  AttributionSource source = AttributionSource::none;
  std::uint8_t confidence_pct = 0;
  std::string reason = {};

  /// Whether the configuration leaves no other mode, so that nothing else need be asked.
  bool is_certain() const { return source == AttributionSource::group_geometry; }
};

/// Finds the modes of channels. First compares the ranks of a group with the configuration's sizes. If that leaves
/// several modes, or if there is no configuration, the rhythm decides:
///
/// - communication that always runs next to attention is context parallelism
/// - a channel that sends without receiving belongs to a pipeline; with a configuration, so does every exchange that is
///   not far more frequent than another
/// - gathers and scatters in long runs, or once in very much compute, are those of parameters and gradients
/// - gathers, scatters and all-reduces between few kernels are tensor parallelism
///
/// Without a configuration, channels that match none of these keep no mode: an all-to-all, or a SendRecv that may be an
/// all-to-all.
///
/// Returns one Inference for each channel, in their order.
std::vector<Inference> infer(const Trace&, std::span<const Channel>, const RankLayouts&);

}  // namespace underlap::attribution
