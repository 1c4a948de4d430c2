// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/trace/enum_names.hpp"
#include "profiler/trace/tag.hpp"

/// Field numbers of the Perfetto messages that the native trace uses, and of our own message inside a packet.
/// Source: the protos under protos/perfetto/trace of Perfetto v59, as its Python package describes them.
namespace underlap::formats::perfetto {

inline constexpr std::uint32_t kTracePacket = 1;  ///< of Trace: the only field of a file

namespace packet {
inline constexpr std::uint32_t kClockSnapshot = 6;
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequence = 10;
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kDefaults = 59;
inline constexpr std::uint32_t kTrackDescriptor = 60;
/// Ours. Perfetto skips fields above 999; 1000 to 1999 are for extensions registered with it, so we stay outside.
inline constexpr std::uint32_t kUnderlap = 2047;
}  // namespace packet

inline constexpr std::uint32_t kStateCleared = 1;  ///< sequence flag: interning begins anew
inline constexpr std::uint32_t kNeedsState = 2;    ///< sequence flag: the packet uses interned data

namespace interned {
inline constexpr std::uint32_t kCategories = 1;
inline constexpr std::uint32_t kEventNames = 2;
inline constexpr std::uint32_t kAnnotationNames = 3;
inline constexpr std::uint32_t kStringValues = 29;
inline constexpr std::uint32_t kIid = 1;   ///< of each entry
inline constexpr std::uint32_t kText = 2;  ///< of each entry
}  // namespace interned

namespace event {
inline constexpr std::uint32_t kCategoryIids = 3;
inline constexpr std::uint32_t kAnnotations = 4;
inline constexpr std::uint32_t kType = 9;
inline constexpr std::uint32_t kNameIid = 10;
inline constexpr std::uint32_t kTrackUuid = 11;
inline constexpr std::uint32_t kName = 23;
inline constexpr std::uint32_t kCounterValue = 44;        ///< double
inline constexpr std::uint32_t kFlowIds = 47;             ///< fixed64
inline constexpr std::uint32_t kTerminatingFlowIds = 48;  ///< fixed64
inline constexpr std::int32_t kSliceBegin = 1;
inline constexpr std::int32_t kSliceEnd = 2;
inline constexpr std::int32_t kInstant = 3;
inline constexpr std::int32_t kCounter = 4;
}  // namespace event

namespace annotation {
inline constexpr std::uint32_t kNameIid = 1;
inline constexpr std::uint32_t kInt = 4;
inline constexpr std::uint32_t kDictEntries = 11;
inline constexpr std::uint32_t kArrayValues = 12;
inline constexpr std::uint32_t kStringIid = 17;
}  // namespace annotation

namespace descriptor {
inline constexpr std::uint32_t kUuid = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kParentUuid = 5;
inline constexpr std::uint32_t kCounter = 8;
inline constexpr std::uint32_t kChildOrdering = 11;
inline constexpr std::uint32_t kSiblingOrderRank = 12;
inline constexpr std::uint32_t kSiblingMergeBehavior = 15;
inline constexpr std::int32_t kOrderExplicit = 3;
inline constexpr std::int32_t kMergeNone = 2;  ///< the default merges siblings of one name
}  // namespace descriptor

namespace clock_snapshot {
inline constexpr std::uint32_t kClocks = 1;
inline constexpr std::uint32_t kClockId = 1;
inline constexpr std::uint32_t kTimestamp = 2;
inline constexpr std::uint32_t kPrimary = 2;    ///< of the snapshot: the clock of the whole trace
inline constexpr std::uint32_t kRealtime = 1;   ///< clock id
inline constexpr std::uint32_t kMonotonic = 3;  ///< clock id
}  // namespace clock_snapshot

namespace defaults {
inline constexpr std::uint32_t kTimestampClock = 58;
}  // namespace defaults

/// Our message: what Perfetto has no place for. Signed numbers are zigzag.
namespace underlap_message {
inline constexpr std::uint32_t kSchema = 1;  ///< string; in the first packet of each block
/// {1: slices, 2: marks, 3: clocks} that follow in the block, {4: 1} where its end has a checksum; {5: counter
/// samples, 6: flows}
inline constexpr std::uint32_t kBlockBegin = 2;
inline constexpr std::uint32_t kBlockEnd = 3;  ///< uint, 1
inline constexpr std::uint32_t kMetadata = 4;  ///< {1: key, 2: value}
/// {1: id, 2: purpose, 3: ranks, 4: name, 5: description, 6: ranks in all}; ids are valid like interned data
inline constexpr std::uint32_t kGroup = 5;
/// {1: uuid, 2: rank, 3: stream, 4: name, 5: kind where it is no stream, 6: device}; several uuids may be one
inline constexpr std::uint32_t kTrack = 6;
inline constexpr std::uint32_t kMarksTrack = 7;  ///< {1: uuid, 2: rank}
inline constexpr std::uint32_t kClock = 8;       ///< {1: rank, 2: device_ns, 3: unix_ns}
/// fixed32, in the same message as kBlockEnd: the last four bytes of a block. They are the CRC-32 of all earlier bytes
/// of the block, from the first byte of the packet with kBlockBegin. Traces of earlier versions have none.
inline constexpr std::uint32_t kChecksum = 9;
/// {1: kind, 2: packed pairs of slices, from and to, each counted from 0 in its block}; before kBlockEnd
inline constexpr std::uint32_t kFlows = 10;
/// uint, 1: an event for people who look at the trace in a viewer. Other events hold the same data, so readers skip it.
inline constexpr std::uint32_t kShown = 11;
}  // namespace underlap_message

inline constexpr std::string_view kSchemaFamily = "underlap.trace/";
inline constexpr std::int32_t kSchemaVersion = 2;

/// Names of the debug annotations. Their interning ids are their places here, from 1.
enum class Annotation : std::uint8_t {
  mode,
  purpose,
  direction,
  layer,
  microbatch,
  bucket,
  model_chunk,
  step,
  operation,
  block,
  group,
  sequence,
  last_arrival_ns,
  cpu_ns,
  transfers,
  collective,
  dtype,
  peer,
  bytes,
  bytes_on_wire,
  chunk,  ///< in earlier traces: the bucket, or with mode pp the model chunk
  mode_source,
  confidence_pct,
  reason,
  grid,
  threads,
  members,  ///< of the group, to be read by a person
  is_part
};
inline constexpr EnumNames<Annotation, 28> kAnnotations{
    {"mode",        "purpose",        "direction", "layer", "microbatch", "bucket",          "model_chunk",
     "step",        "operation",      "block",     "group", "sequence",   "last_arrival_ns", "cpu_ns",
     "transfers",   "collective",     "dtype",     "peer",  "bytes",      "bytes_on_wire",   "chunk",
     "mode_source", "confidence_pct", "reason",    "grid",  "threads",    "members",         "is_part"}};

inline constexpr std::uint64_t kNumKinds = 4;
/// Ids of the categories: kinds, then modes.
constexpr std::uint64_t category_iid(Kind kind) { return 1 + static_cast<std::uint64_t>(kind); }
constexpr std::uint64_t category_iid(Mode mode) { return 1 + kNumKinds + static_cast<std::uint64_t>(mode); }

}  // namespace underlap::formats::perfetto
