// SPDX-License-Identifier: Apache-2.0
// The words of enumerations in files and output.
#include "profiler/trace/enum_names.hpp"

#include "profiler/trace/attribution_source.hpp"
#include "profiler/trace/communication.hpp"
#include "profiler/trace/flow.hpp"
#include "profiler/trace/tag.hpp"
#include "profiler/trace/track.hpp"

namespace underlap {
namespace {

constexpr EnumNames<AttributionSource, 10> kSources{{"tag", "mode_map", "group_name", "group_geometry", "annotation",
                                                     "kernel_name", "rhythm", "none", "fused", "unclassified"}};
constexpr EnumNames<Collective, 7> kCollectives{
    {"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "send", "receive"}};
constexpr EnumNames<DataType, 7> kDataTypes{{"f32", "bf16", "i32", "u8", "f64", "f8e4m3", "f8e5m2"}};
constexpr std::array<std::int64_t, 7> kSizes{4, 2, 4, 1, 8, 1, 1};
constexpr EnumNames<Direction, 4> kDirections{{"none", "forward", "backward", "optimizer"}};
constexpr EnumNames<FlowKind, 6> kFlowKinds{{"launch", "message", "collective", "dependency", "resource", "host"}};
constexpr EnumNames<Kind, 4> kKinds{{"compute", "communication", "copy", "none"}};
constexpr EnumNames<Mode, 8> kModes{{"none", "dp", "tp", "pp", "cp", "ep", "fsdp", "other"}};
constexpr EnumNames<TrackKind, 4> kTrackKinds{{"stream", "thread", "range", "counter"}};

}  // namespace

std::int64_t size_of(DataType dtype) { return kSizes.at(static_cast<std::size_t>(dtype)); }

std::string_view to_string(AttributionSource source) { return kSources[source]; }
std::string_view to_string(Collective collective) { return kCollectives[collective]; }
std::string_view to_string(DataType dtype) { return kDataTypes[dtype]; }
std::string_view to_string(Direction direction) { return kDirections[direction]; }
std::string_view to_string(FlowKind kind) { return kFlowKinds[kind]; }
std::string_view to_string(Kind kind) { return kKinds[kind]; }
std::string_view to_string(Mode mode) { return kModes[mode]; }
std::string_view to_string(TrackKind kind) { return kTrackKinds[kind]; }

std::optional<AttributionSource> attribution_source_from(std::string_view name) { return kSources.find(name); }
std::optional<Collective> collective_from(std::string_view name) { return kCollectives.find(name); }
std::optional<DataType> data_type_from(std::string_view name) { return kDataTypes.find(name); }
std::optional<Direction> direction_from(std::string_view name) { return kDirections.find(name); }
std::optional<FlowKind> flow_kind_from(std::string_view name) { return kFlowKinds.find(name); }
std::optional<Kind> kind_from(std::string_view name) { return kKinds.find(name); }
std::optional<Mode> mode_from(std::string_view name) { return kModes.find(name); }
std::optional<TrackKind> track_kind_from(std::string_view name) { return kTrackKinds.find(name); }

}  // namespace underlap
