// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/attribution.hpp"
#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/flow.hpp"
#include "profiler/trace/track.hpp"

namespace underlap {
namespace {

constexpr EnumNames<AttributionSource, 8> kSources{
    {"tag", "mode_map", "group_name", "group_geometry", "annotation", "kernel_name", "rhythm", "none"}};
constexpr EnumNames<TrackKind, 4> kTrackKinds{{"stream", "thread", "range", "counter"}};
constexpr EnumNames<FlowKind, 6> kFlowKinds{{"launch", "message", "collective", "dependency", "resource", "host"}};

}  // namespace

std::string_view to_string(AttributionSource source) { return kSources[source]; }
std::string_view to_string(TrackKind kind) { return kTrackKinds[kind]; }
std::string_view to_string(FlowKind kind) { return kFlowKinds[kind]; }

std::optional<AttributionSource> attribution_source_from(std::string_view name) { return kSources.find(name); }
std::optional<TrackKind> track_kind_from(std::string_view name) { return kTrackKinds.find(name); }
std::optional<FlowKind> flow_kind_from(std::string_view name) { return kFlowKinds.find(name); }

}  // namespace underlap
