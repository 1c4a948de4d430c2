// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/details/details.hpp"

#include <gmock/gmock.h>

#include "platform/json.hpp"
#include "profiler/analysis/analysis.hpp"
#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::graph {
namespace {

using namespace analysis;   // NOLINT
using namespace ::testing;  // NOLINT

// Two ranks, two steps of 1000 ns; rank 1 computes for 100 ns longer before the all-reduce of each.
JobTrace two_steps() {
  JobTrace job(2);
  job.trace.metadata["backend"] = "sim";
  for (const std::int32_t rank : {0, 1})
    for (const std::int32_t step : {0, 1, 2}) {
      job.trace.marks.push_back({rank, 0, step, 1000 * (step + 1)});
      if (step == 0) continue;
      const std::int64_t begin = 1000 * step;
      const std::int64_t ready = begin + 500 + 100 * rank;
      job.call(rank, begin, begin + 10, job.kernel(rank, begin + 20, ready));
      job.nccl(rank, ready, begin + 800,
               {.group = job.all(),
                .sequence = static_cast<std::uint64_t>(step) + 4,
                .transfers = {{.collective = Collective::all_reduce, .bytes = 1000}}});
      job.kernel(rank, begin + 800, begin + 1000, "adam");
    }
  return job;
}

struct Found {
  JobTrace job = two_steps();
  Communications communications = match_and_align(job.trace);
  Summary summary = summarize(job.trace);
  Details details = find(job.trace);

  Found() { summary.communications = communications; }

  Details find(const Trace& trace) const {
    std::vector<Window> windows;
    for (const RankSummary& rank : summary.ranks)
      windows.insert(windows.end(), rank.windows.begin(), rank.windows.end());
    return find_details(trace, communications, windows);
  }
};

Summary matched(Trace& trace) {
  Summary summary;
  summary.communications = match_and_align(trace);
  return summary;
}

TEST(Details, AddKeysAndChangeNone) {
  const Found found;
  const std::string before = analysis::analysis_json(found.job.trace, found.summary);
  const auto json = parse_json(with_details(before, found.job.trace, found.summary, found.details));
  const auto old_json = parse_json(before);
  for (const auto& [key, value] : old_json.items()) EXPECT_EQ(json.at(key), value) << key;
  EXPECT_EQ(json["matching"]["matched"], 4);
  EXPECT_EQ(json["matching"]["matches"]["sequence"], 2);
  EXPECT_EQ(json["waits"]["late_rank"]["rank"], 1);
  EXPECT_EQ(json["waits"]["late_rank"]["cause"], "longer_kernels");
  EXPECT_EQ(json["waits"]["total"]["wait_us"], 0.2);
  EXPECT_EQ(json["waits"]["steps"]["2"]["wait_us"], 0.1);
  EXPECT_EQ(json["waits"]["modes"]["dp"]["exposed_transfer_us"], 0.8);
  EXPECT_EQ(json["waits"]["arrivals"][0]["skew_us"], 0.1);
  EXPECT_EQ(json["waits"]["arrivals"][0]["kernel"], "gemm");
  EXPECT_EQ(json["bandwidth"]["rows"][0]["transfer_algbw_gb_per_s"], 5.0);
  EXPECT_EQ(json["idle"][0]["launch_us"], 0.04);
  EXPECT_EQ(json["critical_path"]["step"], 1);
  EXPECT_EQ(json["critical_path"]["length_us"], 1.0);
  EXPECT_EQ(json["critical_path"]["modes"]["dp"], 0.2);
  EXPECT_EQ(json["what_if"][0]["name"], "without dp");
  // Step 1 saves 0.2. The work of step 2 starts no earlier, since nothing shows that the host would launch it earlier.
  EXPECT_EQ(json["what_if"][0]["saved_us"], 0.09);
  EXPECT_EQ(json["what_if"][0]["saved_without_guesses_us"], 0);
  EXPECT_EQ(json["replay"]["error"], 0);
  EXPECT_EQ(json["replay"]["what_if_withheld"], false);
  EXPECT_EQ(json["replay"]["edges"]["launch"], 4);
}

std::string text_of(const Summary& summary, const Details& details) {
  std::string text;
  for (const TitledTable& titled : details_tables(summary, details)) text += render(titled, {.width = 100});
  return text;
}

TEST(Details, AreTablesForAPerson) {
  const Found found;
  const std::string text = text_of(found.summary, found.details);
  EXPECT_THAT(text, AllOf(HasSubstr("4 of 4 communications matched."), HasSubstr("1 (100.0 %)"),
                          HasSubstr("longer kernels (100.0 %)"), HasSubstr("Critical path of step 1"),
                          HasSubstr("with rank 1 on time"), HasSubstr("No compute runs during communication.")));
}

TEST(Details, SayWhatATraceCannotShow) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.nccl(0, 0, 100);
  const Summary summary = matched(job.trace);
  const std::vector<Window> windows{{0, -1, -1, 0, 100}};
  const Details details = find_details(job.trace, *summary.communications, windows);
  const std::string text = text_of(summary, details);
  EXPECT_THAT(text, AllOf(HasSubstr("no communicator recorded, and not every rank is in the trace"),
                          HasSubstr("does not record message sizes"), HasSubstr("Critical path of the whole trace")));
  const auto json = parse_json(with_details("{}", job.trace, summary, details));
  EXPECT_TRUE(json["waits"]["late_rank"].is_null());
  EXPECT_TRUE(json["critical_path"]["step"].is_null());
}

// The second kernel of each step follows the first by 100 or by 900 ns, and the trace does not show why.
TEST(Details, WithholdWhatIfAboveAReplayErrorOfFivePercent) {
  JobTrace job(1);
  std::vector<Window> windows;
  std::int64_t begin = 0;
  for (std::int32_t step = 0; step < 5; ++step) {
    const std::int64_t second = begin + (step < 3 ? 200 : 1000);
    job.kernel(0, begin, begin + 100);
    job.nccl(0, begin, begin + 10);
    job.kernel(0, second, second + 100);
    windows.push_back({0, 0, step, begin, second + 100});
    begin = second + 100;
  }
  const Summary summary = matched(job.trace);
  const Details details = find_details(job.trace, *summary.communications, windows);
  EXPECT_GT(details.replay.error(), 0.05);
  EXPECT_THAT(details.what_if, testing::IsEmpty());
  EXPECT_THAT(text_of(summary, details),
              AllOf(HasSubstr("What if: withheld"), HasSubstr("no dependency in the trace explains that part")));
  const auto json = parse_json(with_details("{}", job.trace, summary, details));
  EXPECT_EQ(json["replay"]["what_if_withheld"], true);
  EXPECT_TRUE(json["what_if"].empty());
}

TEST(Details, TakeAnEmptyTrace) {
  Trace trace;
  const Summary summary = matched(trace);
  const Details details = find_details(trace, *summary.communications, {});
  EXPECT_THAT(text_of(summary, details), Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace underlap::graph
