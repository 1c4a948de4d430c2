// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/analysis.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "profiler/analysis/exposure.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"

namespace underlap::graph {
namespace {

using namespace analysis;   // NOLINT
using namespace ::testing;  // NOLINT

namespace fs = std::filesystem;

// The traces that UNDERLAP_REAL_TRACES names, with the mode of each slice.
class RealCommunications : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("UNDERLAP_REAL_TRACES");
    if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_REAL_TRACES is not set";
    folder_ = folder;
  }

  Trace read(const std::string& name) const {
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_ / name)) files.insert(entry.path());
    Trace trace;
    for (const fs::path& file : files) trace.append(formats::read_trace(file));
    attribution::attribute(trace);
    return trace;
  }

 private:
  fs::path folder_;
};

std::vector<std::int64_t> in_us(const std::vector<LateArrival>& arrivals, std::int64_t (*part)(const LateArrival&)) {
  std::vector<std::int64_t> us;
  for (const LateArrival& arrival : arrivals) us.push_back(part(arrival) / 1000);
  return us;
}

// Eight ranks of one host. The figures are those of a recomputation from the files by other means.
TEST_F(RealCommunications, SplitWaitFromTransferAndNameTheLateRank) {
  Trace trace = read("dlrm_8gpu_v100");
  const Communications communications = match_and_align(trace);
  EXPECT_THAT(communications.matching.matches, SizeIs(8));
  EXPECT_THAT(communications.matching.matches, Each(Field(&Match::basis, MatchBasis::assumed)));
  EXPECT_EQ(communications.alignment.residual_ns, 4000);
  for (const auto& [rank, offset] : communications.alignment.offset_ns) EXPECT_EQ(offset, 0);

  const WaitReport waits = find_waits(trace, communications);
  EXPECT_THAT(in_us(waits.arrivals, [](const LateArrival& a) { return a.last_ns - a.first_ns; }),
              ElementsAre(7624, 1101, 168, 125, 223, 534, 584, 885));
  EXPECT_THAT(in_us(waits.arrivals, [](const LateArrival& a) { return a.transfer_ns; }),
              ElementsAre(9, 6, 7, 6, 82, 8, 18, 62));
  EXPECT_EQ(waits.least_transfer_ns, 198'000);
  std::vector<std::int32_t> last;
  for (const LateArrival& arrival : waits.arrivals) last.push_back(arrival.last_rank);
  EXPECT_THAT(last, ElementsAre(7, 7, 7, 7, 7, 5, 5, 4));

  std::vector<std::vector<std::int64_t>> ranks;
  for (const auto& [rank, totals] : waits.ranks)
    ranks.push_back({totals.wait_ns / 1000, totals.exposed_wait_ns / 1000, totals.transfer_ns / 1000,
                     totals.exposed_transfer_ns / 1000});
  EXPECT_THAT(ranks, ElementsAre(ElementsAre(5580, 5342, 218, 195), ElementsAre(11125, 10854, 211, 202),
                                 ElementsAre(3280, 3034, 212, 183), ElementsAre(9571, 9253, 203, 197),
                                 ElementsAre(6370, 6337, 217, 213), ElementsAre(6041, 6007, 210, 204),
                                 ElementsAre(3342, 3109, 216, 180), ElementsAre(1534, 1380, 212, 200)));
  EXPECT_EQ(waits.late_rank()->rank, 7);
  EXPECT_EQ(waits.late_rank()->cause, LateCause::late_launch);
}

TEST_F(RealCommunications, ShowWhyDevicesIdle) {
  Trace trace = read("dlrm_8gpu_v100");
  const Communications communications = match_and_align(trace);
  const Summary summary = summarize(trace);
  std::vector<Window> spans;
  for (const RankSummary& rank : summary.ranks) spans.push_back(rank.windows.front());
  const Details details = find_details(trace, communications, spans);
  const std::vector<std::int64_t> idle_us{6419, 6428, 7046, 8145, 8887, 9121, 7051, 8308};
  ASSERT_THAT(details.idle, SizeIs(8));
  for (const auto& [rank, idle] : details.idle) {
    EXPECT_EQ(idle.total_ns(), idle_us[static_cast<std::size_t>(rank)] * 1000);
    EXPECT_GT(idle.of(IdleCause::launch), idle.total_ns() / 2);
  }
  std::int64_t sum = 0;
  for (const auto& [kind, ns] : details.path.kinds) sum += ns;
  EXPECT_EQ(sum, details.path.span.length());
}

// Of two ranks 2 (n-1)/n is 1, so algbw and busbw of an all-reduce are equal. The median of the nine of 16 to 32 MiB is
// 6637568 floats in 2417.184 us.
TEST_F(RealCommunications, HaveRatesWhereTheyNameTheirBytes) {
  Trace trace = read("ddp_2gpu_a100");
  const Communications communications = match_and_align(trace);
  EXPECT_THAT(communications.matching.matches, SizeIs(0));
  EXPECT_EQ(communications.matching.slices, 21);
  const BandwidthReport report = find_bandwidths(trace);
  std::int64_t count = report.without_bytes;
  for (const BandwidthRow& row : report.rows) {
    count += row.count;
    EXPECT_EQ(row.num_ranks, 2U);
    EXPECT_EQ(row.transfers, 0);
    if (row.collective != Collective::all_reduce || row.least_bytes != 16 << 20) continue;
    EXPECT_EQ(row.count, 9);
    EXPECT_THAT(row.whole.algbw_gb_per_s, DoubleNear(6637568 * 4 / 2417184.0, 1e-9));
    EXPECT_THAT(row.whole.busbw_gb_per_s, DoubleNear(6637568 * 4 / 2417184.0, 1e-9));
  }
  EXPECT_EQ(count, 21);
  EXPECT_GT(report.rows.size(), 0U);
}

TEST_F(RealCommunications, MatchBothDevicesOfAnNsightExport) {
  Trace trace = read("nsys_2gpu_h100");
  const Communications communications = match_and_align(trace);
  EXPECT_THAT(communications.matching.matches, SizeIs(33));
  const WaitReport waits = find_waits(trace, communications);
  // The longest: devices 0 and 1 start 3339737 ns apart and end together.
  std::int64_t longest = 0;
  for (const LateArrival& arrival : waits.arrivals) longest = std::max(longest, arrival.last_ns - arrival.first_ns);
  EXPECT_EQ(longest, 3'339'732);
}

// The figures of both ranks were found by other means.
TEST_F(RealCommunications, HaveTheExposureOfAnNsightExport) {
  const Summary summary = summarize(read("nsys_2gpu_h100"));
  // Compute kernels, and the times of communication, all of it exposed, of compute, of the window and idle.
  const std::vector<std::vector<std::int64_t>> expected{{1960, 17172652, 253690832, 299848812, 26031025},
                                                        {1984, 8229100, 256095624, 298661551, 31385635}};
  ASSERT_THAT(summary.ranks, SizeIs(2));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const RankSummary& found = summary.ranks[rank];
    EXPECT_EQ(found.comm_kernels, 33);
    EXPECT_EQ(found.total.exposed_ns(), found.total.comm_ns());
    EXPECT_THAT(expected[rank], ElementsAre(found.compute_kernels, found.total.comm_ns(), found.total.compute_ns(),
                                            found.total.window_ns, found.total.idle_ns));
  }
}

using namespace ::testing;  // NOLINT

// Traces by hand whose right answers are known, of the folder that UNDERLAP_CASES names.
class Truth : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("UNDERLAP_CASES");
    if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_CASES is not set";
    folder_ = std::filesystem::path(folder) / "truth";
  }

  Details details_of(const std::vector<std::string>& names) const {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back((folder_ / (name + ".json")).string());
    ReadingWatch watch;
    const input::CellTrace cell = input::read_cell(
        input::trace_files(files), [](const Trace&) { return attribution::AttributionOptions{}; }, watch);
    return find_details(cell.trace, *cell.summary.communications, cell.summary.shown_windows());
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Truth, SavesNothingWhereTheLaunchComesLate) {
  const Details details = details_of({"0_0", "1_1"});
  ASSERT_EQ(details.what_if.size(), 1U);
  EXPECT_EQ(details.what_if[0].name, "without dp");
  EXPECT_EQ(details.what_if[0].saved_ns(), 0);
}

TEST_F(Truth, SplitsAWaitAmongItsCauses) {
  const analysis::WaitReport waits = details_of({"b0", "b1", "b2"}).waits;
  EXPECT_EQ(waits.total.wait_ns, 600'000);
  EXPECT_THAT(waits.total.wait_ns_by_blamed_rank, ElementsAre(Pair(1, 150'000), Pair(2, 400'000)));
  EXPECT_EQ(waits.total.behind_transfer_ns, 50'000);
  EXPECT_EQ(waits.late_rank()->rank, 2);
}

TEST_F(Truth, NamesNoLateRankWithinTheUncertaintyOfClocks) {
  for (const auto& [files, unresolved_ns] :
       {std::pair{std::vector<std::string>{"single_0", "single_1"}, 20'000}, {{"half_0", "half_1"}, 15'000}}) {
    const analysis::WaitReport waits = details_of(files).waits;
    EXPECT_EQ(waits.total.unresolved_ns, unresolved_ns);
    EXPECT_EQ(waits.late_rank(), std::nullopt);
  }
}

}  // namespace
}  // namespace underlap::graph
