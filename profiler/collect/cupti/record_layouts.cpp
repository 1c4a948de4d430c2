// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/record_layouts.hpp"

#include <algorithm>
#include <array>

namespace underlap::cupti {
namespace {

// Versions were plain numbers until CUDA 12.9 (25 was never released), and are xxyyzz since 13.0.
constexpr std::uint32_t kCuda12_4 = 22;
constexpr std::uint32_t kCuda12_5 = 23;
constexpr std::uint32_t kCuda12_6 = 24;
constexpr std::uint32_t kCuda12_8 = 26;
constexpr std::uint32_t kCuda12_9Update1 = 28;
constexpr std::uint32_t kCuda13_0 = 130000;
constexpr std::uint32_t kCuda13_1 = 130100;
constexpr std::uint32_t kCuda13_3 = 130300;
constexpr std::uint32_t kCuda13_4 = 130400;
constexpr std::uint32_t kCuda13_5 = 130500;
constexpr std::uint32_t kAfterCuda13_1 = 130200;
constexpr std::uint32_t kAfterCuda13_5 = 130600;

struct Size {
  std::uint32_t kind;
  std::uint32_t since;
  std::uint16_t bytes;
};

// By kind, then version. The comments name the structure where it changed.
constexpr Size kSizes[] = {
    {1, kCuda12_4, 88},    // Memcpy5
    {1, kCuda12_8, 96},    // Memcpy6
    {1, kCuda13_4, 112},   // Memcpy7
    {2, kCuda12_4, 88},    // Memset4
    {2, kCuda13_4, 104},   // Memset5
    {3, kCuda12_4, 208},   // Kernel9; kind 3 and kind 10 share their structure
    {3, kCuda13_0, 216},   // Kernel10
    {3, kCuda13_1, 224},   // Kernel11
    {3, kCuda13_3, 232},   // Kernel12
    {3, kCuda13_4, 248},   // Kernel13
    {4, kCuda12_4, 40},    // API
    {5, kCuda12_4, 40},    // API
    {10, kCuda12_4, 208},  // Kernel9
    {10, kCuda13_0, 216},  // Kernel10
    {10, kCuda13_1, 224},  // Kernel11
    {10, kCuda13_3, 232},  // Kernel12
    {10, kCuda13_4, 248},  // Kernel13
    {11, kCuda12_4, 32},   // Name
    {12, kCuda12_4, 56},   // Marker2
    {17, kCuda12_4, 56},   // Overhead3
    {22, kCuda12_4, 96},   // MemcpyPtoP4
    {26, kCuda12_4, 32},   // Function
    {27, kCuda12_4, 24},   // Module
    {28, kCuda12_4, 24},   // DeviceAttribute
    {36, kCuda12_4, 24},   // CudaEvent
    {36, kCuda12_8, 56},   // CudaEvent2
    {36, kCuda13_5, 80},   // CudaEvent3
    {37, kCuda12_4, 24},   // Stream
    {38, kCuda12_4, 40},   // Synchronization
    {38, kCuda12_8, 56},   // Synchronization2
    {39, kCuda12_4, 24},   // ExternalCorrelation
    {48, kCuda12_4, 40},   // API
    {51, kCuda12_4, 56},   // GraphTrace2
};

}  // namespace

bool is_known_version(std::uint32_t version) {
  constexpr std::array kOldScheme{kCuda12_4, kCuda12_5, kCuda12_6, kCuda12_8, std::uint32_t{27}, kCuda12_9Update1};
  return std::find(kOldScheme.begin(), kOldScheme.end(), version) != kOldScheme.end() ||
         (version >= kCuda13_0 && version < kAfterCuda13_5);
}

bool is_checked_version(std::uint32_t version) { return is_known_version(version) && version < kAfterCuda13_1; }

std::optional<std::size_t> record_size(std::uint32_t kind, std::uint32_t version) {
  std::optional<std::size_t> found;
  for (const Size& size : kSizes)
    if (size.kind == kind && size.since <= version) found = size.bytes;
  return found;
}

std::size_t smallest_record_size(std::uint32_t kind) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::memcpy:
    case RecordKind::memset: return 72;
    case RecordKind::kernel:
    case RecordKind::concurrent_kernel: return 152;
    case RecordKind::driver:
    case RecordKind::runtime: return 40;
    case RecordKind::overhead: return 48;
    case RecordKind::memcpy_peer: return 80;
    case RecordKind::cuda_event: return 24;
    case RecordKind::synchronization: return 40;
    case RecordKind::external_correlation: return 24;
  }
  return 0;
}

}  // namespace underlap::cupti
