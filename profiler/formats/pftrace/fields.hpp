// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Field numbers of Perfetto messages that other programs write and the native trace does not use.
/// Source: the protos under protos/perfetto/trace of Perfetto v59, as its Python package describes them.
namespace underlap::formats::pftrace {

namespace packet {
inline constexpr std::uint32_t kCompressed = 50;  ///< zlib stream of more packets
inline constexpr std::uint32_t kGpuRenderStage = 53;
inline constexpr std::uint32_t kTimestampClock = 58;
inline constexpr std::uint32_t kPreviousDropped = 42;
inline constexpr std::uint32_t kZstdCompressed = 133;
}  // namespace packet

namespace defaults {
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kTrackUuid = 11;  ///< of track_event_defaults
}  // namespace defaults

namespace clock {
inline constexpr std::uint32_t kIsIncremental = 3;
inline constexpr std::uint32_t kUnitNs = 4;
inline constexpr std::uint64_t kBoottime = 6;          ///< clock id; of packets that name no clock
inline constexpr std::uint64_t kFirstOfSequence = 64;  ///< smaller ids are clocks of the system
inline constexpr std::uint64_t kFirstOfFile = 128;
}  // namespace clock

namespace interned {
inline constexpr std::uint32_t kGpuSpecifications = 24;
inline constexpr std::uint32_t kKernels = 1000;
inline constexpr std::uint32_t kDemangledName = 3;  ///< of a kernel
}  // namespace interned

namespace descriptor {
inline constexpr std::uint32_t kProcess = 3;
inline constexpr std::uint32_t kThread = 4;
inline constexpr std::uint32_t kStaticName = 10;
inline constexpr std::uint32_t kPid = 1;          ///< of a process and of a thread
inline constexpr std::uint32_t kProcessName = 6;  ///< of a process
inline constexpr std::uint32_t kTid = 2;          ///< of a thread
inline constexpr std::uint32_t kThreadName = 5;   ///< of a thread
}  // namespace descriptor

namespace event {
inline constexpr std::uint32_t kCategories = 22;
inline constexpr std::uint32_t kCounterInteger = 30;
inline constexpr std::uint32_t kGpuCorrelation = 3000;  ///< {1: event_id of render stages}
}  // namespace event

namespace annotation {
inline constexpr std::uint32_t kBool = 2;
inline constexpr std::uint32_t kUint = 3;
inline constexpr std::uint32_t kString = 6;
inline constexpr std::uint32_t kName = 10;
}  // namespace annotation

namespace render_stage {
inline constexpr std::uint32_t kEventId = 1;
inline constexpr std::uint32_t kDuration = 2;
inline constexpr std::uint32_t kExtraData = 6;  ///< {1: name, 2: value}, both text
inline constexpr std::uint32_t kGpu = 11;
inline constexpr std::uint32_t kQueueIid = 13;
inline constexpr std::uint32_t kStageIid = 14;
inline constexpr std::uint32_t kName = 17;
inline constexpr std::uint32_t kKernelIid = 19;
inline constexpr std::uint32_t kNameIid = 20;
inline constexpr std::uint32_t kLaunch = 21;  ///< {1: grid, 2: workgroup}, each {1: x, 2: y, 3: z}
}  // namespace render_stage

}  // namespace underlap::formats::pftrace
