// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiler/trace/name.hpp"

/// CUPTI's reports as plain rows. Nothing here needs a CUPTI header, so tests and analyses of these rows build without
/// CUDA. Times are nanoseconds: of CUPTI's clock after parsing, of CLOCK_MONOTONIC after draining by the collector.
namespace underlap::cupti {

/// Extent of a grid or a block.
struct Extent {
  std::int32_t x = 1;
  std::int32_t y = 1;
  std::int32_t z = 1;

  std::int64_t count() const { return static_cast<std::int64_t>(x) * y * z; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// When something ran on a device.
struct OnDevice {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t correlation = 0;  ///< the API call that enqueued it; all nodes of one graph launch share it

  friend bool operator==(const OnDevice&, const OnDevice&) = default;
};

struct KernelActivity {
  OnDevice at{};
  NameId name = kNoName;  ///< as CUPTI gives it: mangled
  Extent grid{};
};

struct CopyActivity {
  OnDevice at{};
  bool is_peer = false;  ///< between two devices
  std::int64_t bytes = 0;
};

struct MemsetActivity {
  OnDevice at{};
  std::int64_t bytes = 0;
};

enum class SynchronizationKind : std::uint8_t { other, event, stream_wait_event, stream, context };

/// A call that waited: a host thread, or a stream for an event.
struct SynchronizationActivity {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  SynchronizationKind kind = SynchronizationKind::other;
  std::uint32_t correlation = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t event = 0;
  std::uint64_t event_record =
      0;  ///< which recording of the event, as EventActivity::record; 0: the library is too old
};

/// An event was recorded on a stream.
struct EventActivity {
  std::uint32_t correlation = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t event = 0;
  std::uint64_t record = 0;  ///< unique to this recording; 0: the library is too old
};

/// Time that CUPTI or the driver took for themselves.
struct OverheadActivity {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t kind = 0;  ///< CUpti_ActivityOverheadKind
};

/// The operation that an API call belongs to.
struct ExternalCorrelation {
  std::uint32_t correlation = 0;
  std::uint32_t kind = 0;  ///< CUpti_ExternalCorrelationKind
  std::uint64_t id = 0;
};

/// A call of the CUDA runtime or driver.
struct ApiActivity {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool is_runtime = true;
  std::uint32_t function = 0;  ///< callback id of the runtime's or driver's function
  std::uint32_t correlation = 0;
  std::uint32_t thread = 0;
  std::uint32_t result = 0;  ///< cudaError_t or CUresult; 0: it succeeded
};

/// Everything read from some buffers, each list in the order of the buffers, which is not the order of time.
struct Activities {
  std::vector<KernelActivity> kernels{};
  std::vector<CopyActivity> copies{};
  std::vector<MemsetActivity> memsets{};
  std::vector<SynchronizationActivity> synchronizations{};
  std::vector<EventActivity> events{};
  std::vector<OverheadActivity> overheads{};
  std::vector<ExternalCorrelation> external_correlations{};
  std::vector<ApiActivity> api_calls{};

  std::int64_t num_records = 0;  ///< read, whether used or not
  /// What could not be used, by reason: bytes that follow a record of unknown size count once a buffer.
  std::map<std::string, std::int64_t> skipped{};
};

/// The external correlation kind under which Collector::push() names operations: CUPTI's CUSTOM0.
inline constexpr std::uint32_t kOperationCorrelation = 3;

}  // namespace underlap::cupti
