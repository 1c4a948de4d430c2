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

/// The mode of a channel, as its ranks and its rhythm tell it.
struct Inference {
  Mode mode = Mode::none;
  AttributionSource source = AttributionSource::none;
  std::uint8_t confidence_pct = 0;
  std::string reason = {};

  /// Whether the configuration leaves no other mode, so that nothing else need be asked.
  bool is_certain() const { return source == AttributionSource::group_geometry; }
};

/// Tells the modes of channels from each other. First the ranks of a group are held against the configuration's sizes.
/// Where that leaves several modes, or there is no configuration, the rhythm decides:
///
/// - what always runs beside attention is context parallelism
/// - what sends without receiving is a pipeline's; with a configuration so is every exchange that is not far more
/// frequent
///   than another
/// - gathers and scatters in long runs, or once in very much compute, are those of parameters and gradients
/// - gathers, scatters and all-reduces between few kernels are tensor parallelism
///
/// Without a configuration, what fits none of these stays without a mode: an all-to-all, or a SendRecv that may be one.
///
/// One Inference for each channel, in their order.
std::vector<Inference> infer(const Trace&, std::span<const Channel>, const RankLayouts&);

}  // namespace underlap::attribution
