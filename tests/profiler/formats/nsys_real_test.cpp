// SPDX-License-Identifier: Apache-2.0
// Against a real export of two ranks (schema 3.25.0), whose figures were found by other means. RealCommunications
// checks its kernels and times.
#include <gmock/gmock.h>

#include <cstdlib>
#include <utility>

#include "profiler/formats/format.hpp"

namespace underlap::formats {
namespace {

using ::testing::HasSubstr;

class RealNsysFile : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* folder = std::getenv("UNDERLAP_REAL_TRACES");
    if (folder != nullptr)
      trace_ = new Trace(read_trace(std::filesystem::path(folder) / "nsys_2gpu_h100" / "before.sqlite"));
  }
  static void TearDownTestSuite() { delete std::exchange(trace_, nullptr); }
  void SetUp() override {
    if (trace_ == nullptr) GTEST_SKIP() << "UNDERLAP_REAL_TRACES names no folder with real traces";
  }
  static inline Trace* trace_ = nullptr;
};

TEST_F(RealNsysFile, LeavesNothingOut) {
  for (const auto& [reason, count] : trace_->import.skipped) ADD_FAILURE() << reason << ": " << count;
  EXPECT_EQ(trace_->import.events, 4010 + 1020 + 269 + 7466 + 19118 + 366);
}

TEST_F(RealNsysFile, LaunchesEachKernelFromAThreadOfItsRank) {
  std::int64_t launches = 0;
  for (const Flow& flow : trace_->flows) {
    if (flow.kind != FlowKind::launch) continue;
    EXPECT_EQ(trace_->track_of(flow.from).rank, trace_->track_of(flow.to).rank);
    EXPECT_EQ(trace_->track_of(flow.from).kind, TrackKind::thread);
    ++launches;
  }
  EXPECT_EQ(launches, 5268);
}

TEST_F(RealNsysFile, HasOneDeviceForEachRank) {
  for (const Track& track : trace_->tracks)
    if (track.kind == TrackKind::stream) {
      EXPECT_EQ(track.device, track.rank) << track.name;
    }
}

TEST_F(RealNsysFile, SaysThatPayloadsWereLeftOutAndHowToExportThem) {
  EXPECT_THAT(trace_->metadata.at("advice"), HasSubstr("nsys export --type=sqlite --include-blobs=true"));
  EXPECT_TRUE(trace_->groups.empty());
}

TEST_F(RealNsysFile, LiesInTheSecondsOfItsCapture) {
  EXPECT_EQ(trace_->metadata.at("nsys_schema"), "3.25.0");
  // 32 s into a capture that began at 2026-05-26T07:58:50.
  EXPECT_EQ(trace_->first_ns() / 1'000'000'000, 1779782330 + 32);
}

}  // namespace
}  // namespace underlap::formats
