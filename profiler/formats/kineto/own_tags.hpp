// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/trace/trace.hpp"

/// The contents of the key "underlap" in Kineto files that Underlap wrote, so that reading them back loses nothing.
///
/// At the top, before `traceEvents`: schema, clock_offset_ns (a time of the file minus this is a time of the trace's
/// own clock), metadata and groups, and the tracks, marks and clock readings of the file's rank.
/// In `args` of each event of a slice: its track, and the values of tag, attribution, shape, communication and flows
/// that differ from their defaults. A flow has its kind and the slice where it starts, counted from 0 in the file. All
/// other events of such a file are for other tools: launches that no trace recorded, steps, flows.
/// Counters are events of phase C whose `tid` is the track.
/// A text that is not UTF-8 is {"hex": "..."}.
namespace underlap::formats::kineto {

inline constexpr std::string_view kOwnKey = "underlap";
inline constexpr std::string_view kOwnSchemaFamily = "underlap.kineto/";
inline constexpr std::int32_t kOwnSchemaVersion = 1;

/// The numbers of a tag by their keys.
inline constexpr std::array<std::pair<std::string_view, std::int32_t Tag::*>, 5> kTagNumbers{
    {{"layer", &Tag::layer},
     {"microbatch", &Tag::microbatch},
     {"bucket", &Tag::bucket},
     {"chunk", &Tag::chunk},
     {"step", &Tag::step}}};

/// A flow that ends in a slice: its kind, and which slice of the file it begins at.
using FlowFrom = std::pair<FlowKind, std::uint32_t>;

/// Appends the object at the top of the file of `rank`.
void append_own_header(std::string& out, const Trace&, std::int32_t rank, std::int64_t clock_offset_ns);

/// The header of a file that Underlap wrote: a trace with its tracks, groups, marks, clocks and metadata, still without
/// slices.
struct OwnHeader {
  Trace trace;
  std::int64_t clock_offset_ns = 0;
};

/// Reads the object at the top of a file. nullopt where it cannot be used: then the file is as any other.
/// Throws std::invalid_argument, naming `origin`, for a newer schema.
std::optional<OwnHeader> read_own_header(std::string_view json, const std::string& origin);

/// The position of a slice in its file.
struct OwnPlace {
  std::uint32_t track = 0;      ///< among those of the header
  std::string_view shown_name;  ///< that its event has
  std::vector<FlowFrom> flows;
};

/// Appends the object of a slice.
void append_own_slice(std::string& out, const Trace&, std::size_t slice, const OwnPlace&);

}  // namespace underlap::formats::kineto
