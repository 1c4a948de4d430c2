// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/profiler/collect/cupti/later_records.hpp"

namespace underlap::cupti {

// Activity buffers that no GPU wrote. Their structures are those of the CUPTI header, so they say nothing about the
// parser's own table; a release of which the header has no structures is made by naming the bytes to append.
class SyntheticBuffer {
 public:
  template <class Record>
  SyntheticBuffer& add(const Record& record, std::size_t appended_bytes = 0) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(record));
    bytes_.insert(bytes_.end(), appended_bytes, 0xAB);
    return *this;
  }

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::vector<std::uint8_t>& storage() { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

inline constexpr const char* kSyntheticKernelName = "synthetic_gemm";

// A record of what ran on a device.
template <class Record>
Record synthetic_work(CUpti_ActivityKind kind, std::uint64_t start, std::uint64_t end, std::uint32_t correlation) {
  Record record{};
  record.kind = kind;
  record.start = start;
  record.end = end;
  record.correlationId = correlation;
  return record;
}

template <class Kernel = CUpti_ActivityKernel10>
Kernel synthetic_kernel(std::uint32_t correlation = 7, std::uint64_t start = 1000, std::uint64_t end = 1500,
                        const char* name = kSyntheticKernelName) {
  auto kernel = synthetic_work<Kernel>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, start, end, correlation);
  kernel.gridX = 132;
  kernel.gridY = 2;
  kernel.gridZ = 3;
  kernel.blockX = 384;
  kernel.blockY = 4;
  kernel.blockZ = 5;
  kernel.name = name;
  return kernel;
}

template <class Copy = CUpti_ActivityMemcpy6>
Copy synthetic_copy(std::uint32_t correlation = 8, std::uint64_t start = 2000, std::uint64_t end = 2600) {
  auto copy = synthetic_work<Copy>(CUPTI_ACTIVITY_KIND_MEMCPY, start, end, correlation);
  copy.bytes = 4096;
  return copy;
}

inline CUpti_ActivityMemcpyPtoP4 synthetic_peer_copy(std::uint32_t correlation = 9) {
  auto copy = synthetic_work<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2, 3000, 3100, correlation);
  copy.bytes = 8192;
  return copy;
}

inline CUpti_ActivityMemset4 synthetic_memset(std::uint32_t correlation = 10) {
  auto memset = synthetic_work<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, 4000, 4010, correlation);
  memset.bytes = 256;
  return memset;
}

template <class Synchronization = CUpti_ActivitySynchronization2>
Synchronization synthetic_synchronization() {
  Synchronization record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  record.start = 5000;
  record.end = 5001;
  record.correlationId = 11;
  record.contextId = 2;
  record.streamId = 13;
  record.cudaEventId = 44;
  return record;
}

template <class Event = CUpti_ActivityCudaEvent2>
Event synthetic_event() {
  Event event{};
  event.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  event.correlationId = 12;
  event.contextId = 2;
  event.streamId = 13;
  event.eventId = 44;
  return event;
}

inline CUpti_ActivityOverhead3 synthetic_overhead(std::uint64_t start = 6000, std::uint64_t end = 6500) {
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.start = start;
  overhead.end = end;
  return overhead;
}

inline CUpti_ActivityExternalCorrelation synthetic_external(std::uint32_t correlation, std::uint64_t id) {
  CUpti_ActivityExternalCorrelation external{};
  external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  external.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  external.externalId = id;
  external.correlationId = correlation;
  return external;
}

inline CUpti_ActivityAPI synthetic_call(std::uint32_t correlation = 7, std::uint64_t start = 900) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  call.start = start;
  call.end = start + 5;
  call.processId = 400;
  call.threadId = 401;
  call.correlationId = correlation;
  return call;
}

}  // namespace underlap::cupti
