// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/record_layouts.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/api.hpp"

namespace underlap::cupti {
namespace {

constexpr std::uint32_t kLargestKind = 100;

// The size of a record of `kind` according to the library: the distance from one to the next in a buffer where each
// word could begin one.
std::optional<std::size_t> size_according_to(const Api& api, std::uint32_t kind) {
  std::vector<std::uint64_t> words(512, kind);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(words.data());
  CUpti_Activity* record = nullptr;
  if (api.activity_get_next_record(bytes, words.size() * 8, &record) != CUPTI_SUCCESS) return std::nullopt;
  const auto* const first = reinterpret_cast<std::uint8_t*>(record);
  if (api.activity_get_next_record(bytes, words.size() * 8, &record) != CUPTI_SUCCESS) return std::nullopt;
  return static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(record) - first);
}

TEST(RecordLayouts, AgreeWithTheInstalledLibrary) {
  std::optional<Api> api;
  try {
    api = Api::load();
  } catch (const MachineError& error) {
    GTEST_SKIP() << "no CUPTI to compare with: " << error.what();
  }
#if CUPTI_API_VERSION >= 130200
  if (api->driver_version() == 0) GTEST_SKIP() << "without a driver CUPTI answers nothing from CUDA 13.2 on";
#endif
  const std::uint32_t version = api->version();
  if (!is_known_version(version)) GTEST_SKIP() << "CUPTI " << version << " is newer than the table";
  int num_compared = 0;
  for (std::uint32_t kind = 1; kind < kLargestKind; ++kind) {
    const auto ours = record_size(kind, version);
    if (!ours) continue;
    EXPECT_EQ(size_according_to(*api, kind), ours) << "kind " << kind << ", CUPTI " << version;
    ++num_compared;
  }
  EXPECT_GE(num_compared, 18);
}

TEST(RecordLayouts, AgreeWithTheHeadersStructures) {
  const auto size = [](CUpti_ActivityKind kind, std::uint32_t version) { return record_size(kind, version); };
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 22), sizeof(CUpti_ActivityKernel9));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_MEMCPY, 24), sizeof(CUpti_ActivityMemcpy5));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_MEMCPY2, 24), sizeof(CUpti_ActivityMemcpyPtoP4));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_MEMSET, 24), sizeof(CUpti_ActivityMemset4));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 24), sizeof(CUpti_ActivitySynchronization));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 24), sizeof(CUpti_ActivityCudaEvent));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_OVERHEAD, 22), sizeof(CUpti_ActivityOverhead3));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 22), sizeof(CUpti_ActivityExternalCorrelation));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_RUNTIME, 22), sizeof(CUpti_ActivityAPI));
#if CUPTI_API_VERSION >= 130000
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 130000), sizeof(CUpti_ActivityKernel10));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_MEMCPY, 130000), sizeof(CUpti_ActivityMemcpy6));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 130000), sizeof(CUpti_ActivitySynchronization2));
  EXPECT_EQ(size(CUPTI_ACTIVITY_KIND_CUDA_EVENT, 130000), sizeof(CUpti_ActivityCudaEvent2));
#endif
}

TEST(RecordLayouts, ARecordIsNeverShorterThanWhatIsReadOfIt) {
  for (const std::uint32_t version :
       {22U, 23U, 24U, 26U, 27U, 28U, 130000U, 130101U, 130202U, 130301U, 130401U, 130500U})
    for (std::uint32_t kind = 1; kind < kLargestKind; ++kind) {
      if (smallest_record_size(kind) == 0) continue;
      EXPECT_GE(record_size(kind, version), smallest_record_size(kind)) << kind;
    }
}

TEST(RecordLayouts, KnowsWhichVersionsTheLibraryItselfConfirmed) {
  EXPECT_TRUE(is_checked_version(22));
  EXPECT_TRUE(is_checked_version(130101));
  EXPECT_FALSE(is_checked_version(130200));
  EXPECT_TRUE(is_known_version(130200));
  EXPECT_FALSE(is_known_version(25));
}

}  // namespace
}  // namespace underlap::cupti
