// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>

// Structures of CUPTI that came after the oldest toolkit, for one whose header has not got them: each is the one before
// it and what was appended. The parser reads records of all releases wherever it was compiled, and so its tests make
// them.
namespace underlap::cupti {

#if CUPTI_API_VERSION < 26  // CUDA 12.8
struct CUpti_ActivityMemcpy6 : CUpti_ActivityMemcpy5 {
  std::uint64_t copyCount;
};
struct CUpti_ActivitySynchronization2 : CUpti_ActivitySynchronization {
  std::uint64_t cudaEventSyncId;
  std::uint32_t returnValue;
  std::uint32_t pad;
};
struct CUpti_ActivityCudaEvent2 : CUpti_ActivityCudaEvent {
  std::uint32_t deviceId;
  std::uint32_t pad2;
  void* reserved0;
  std::uint64_t deviceTimestamp;
  std::uint64_t cudaEventSyncId;
};
#endif

#if CUPTI_API_VERSION < 130000  // CUDA 13.0
struct CUpti_ActivityKernel10 : CUpti_ActivityKernel9 {
  std::uint8_t isDeviceLaunched;
  std::uint8_t padding3[7];
};
#endif

}  // namespace underlap::cupti
