// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "profiler/formats/format.hpp"

namespace underlap::formats {
namespace {

namespace fs = std::filesystem;

class KinetoRealTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("UNDERLAP_REAL_TRACES");
    if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_REAL_TRACES does not name a folder of real traces";
    folder_ = folder;
  }

  static std::size_t count_kernels(const Trace& trace, bool nccl) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < trace.size(); ++i)
      if (trace.tag(i).kind == Kind::compute && name_of(trace.name(i)).starts_with("nccl") == nccl) ++count;
    return count;
  }

  // From the first start of work to its last end.
  static std::int64_t span_ns(const Trace& trace) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (!trace.is_work(i)) continue;
      first = std::min(first, trace.start_ns()[i]);
      last = std::max(last, trace.end_ns(i));
    }
    return last - first;
  }

  fs::path folder_;
};

TEST_F(KinetoRealTraces, HaveTheKernelsOfEightRanks) {
  struct Rank {
    std::size_t compute;
    std::int64_t span_us;
  };
  const std::array<Rank, 8> ranks{
      {{237, 13009}, {302, 18749}, {238, 11350}, {307, 18853}, {243, 16589}, {237, 16392}, {238, 11410}, {238, 10967}}};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder_ / "dlrm_8gpu_v100")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Trace trace = read_trace(files[rank]);
    EXPECT_EQ(trace.import.num_skipped(), 0);
    EXPECT_EQ(trace.tracks.at(0).rank, static_cast<std::int32_t>(rank));
    EXPECT_EQ(count_kernels(trace, true), 8) << rank;
    EXPECT_EQ(count_kernels(trace, false), ranks[rank].compute) << rank;
    EXPECT_EQ(span_ns(trace), ranks[rank].span_us * 1000) << rank;
  }
}

TEST_F(KinetoRealTraces, HaveCollectivesWithTheirGroup) {
  const Trace trace = read_trace(folder_ / "ddp_2gpu_a100/nccl_data.json.gz");
  EXPECT_EQ(trace.import.num_skipped(), 0);
  EXPECT_EQ(count_kernels(trace, true), 21);
  EXPECT_EQ(count_kernels(trace, false), 2679);
  EXPECT_EQ(span_ns(trace), 660'551'005);  // summed as doubles the times of the file give a nanosecond more
  ASSERT_EQ(trace.groups.size(), 1);
  EXPECT_EQ(trace.groups[0].ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(name_of(trace.groups[0].description), "default_pg");
  for (std::size_t i = 0; i < trace.size(); ++i)
    EXPECT_EQ(trace.communication(i) != nullptr,
              trace.tag(i).kind == Kind::compute && name_of(trace.name(i)).starts_with("nccl"))
        << i;
  EXPECT_EQ(trace.metadata.at("nccl_version"), "2.17.1");
}

TEST_F(KinetoRealTraces, HaveTheKernelsOfAPair) {
  const Trace control = read_trace(folder_ / "pair_a100_v100/control.json.gz");
  EXPECT_EQ(control.import.events, 109'123);
  EXPECT_EQ(control.import.num_skipped(), 0);
  EXPECT_EQ(control.tracks.at(0).rank, 3);
  EXPECT_EQ(count_kernels(control, true), 60);
  EXPECT_EQ(count_kernels(control, false), 8508);
  EXPECT_EQ(span_ns(control), 464'594'000);
  const Trace test = read_trace(folder_ / "pair_a100_v100/test.json.gz");
  EXPECT_EQ(test.tracks.at(0).rank, 1);
  EXPECT_EQ(count_kernels(test, true), 64);
  EXPECT_EQ(count_kernels(test, false), 9812);
  EXPECT_EQ(span_ns(test), 745'239'000);
}

}  // namespace
}  // namespace underlap::formats
