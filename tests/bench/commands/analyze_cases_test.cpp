// SPDX-License-Identifier: Apache-2.0
// Small handwritten traces, modelled on bug reports of profilers. The folder in UNDERLAP_CASES has the
// expected figures of each.
#include <gmock/gmock.h>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;

/// A figure of the JSON of an analysis: a JSON pointer and its value.
struct Figure {
  const char* pointer;
  double value;
};

struct Case {
  const char* name;
  Words files;
  std::vector<Figure> figures;

  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

std::string cases() { return folder_in("UNDERLAP_CASES"); }

class AnalyzeCase : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (cases().empty()) GTEST_SKIP() << "UNDERLAP_CASES names no folder of cases";
    for (const std::string& file : GetParam().files)
      if (!fs::exists(cases() + file)) GTEST_SKIP() << file << " is not there";
  }
};

TEST_P(AnalyzeCase, HasTheExpectedFigures) {
  Words arguments{"analyze"};
  for (const std::string& file : GetParam().files) arguments.push_back(cases() + file);
  const Json json = json_of(joined(arguments, {"--details", "--by", "hidden"}));
  for (const auto& [pointer, value] : GetParam().figures) {
    const Json::json_pointer at(pointer);
    ASSERT_TRUE(json.contains(at)) << pointer;
    EXPECT_NEAR(json[at].get<double>(), value, 0.01) << pointer;
  }
}

Case experts(const char* name, const char* file) {
  return {name, {file}, {{"/ranks/0/modes/ep/steps/exposed_us", 800}, {"/ranks/0/modes/ep/steps/comm_us", 800}}};
}

Case skewed(const char* name, const std::string& folder) {
  return {name,
          {folder + "/rank0.json", folder + "/rank1.json"},
          {{"/ranks/0/steps/exposed_wait_us", 300}, {"/ranks/0/steps/exposed_us", 400}}};
}

INSTANTIATE_TEST_SUITE_P(
    Of, AnalyzeCase,
    ::testing::Values(
        Case{"AnnotatedCopies",
             {"ce_allgather/ann.json"},
             {{"/ranks/0/steps/exposed_us", 500},
              {"/ranks/0/steps/comm_us", 1100},
              {"/ranks/0/purposes/all_gather/steps/comm_us", 800},
              {"/ranks/0/purposes/all_gather/steps/exposed_us", 300},
              {"/ranks/0/purposes/all_gather/steps/count", 2},
              {"/ranks/0/purposes/reduce_scatter/steps/exposed_us", 200},
              {"/ranks/0/modes/fsdp/steps/exposed_us", 500}}},
        Case{"CopiesWithIds",
             {"ce_allgather/noann.json"},
             {{"/ranks/0/steps/exposed_us", 500}, {"/ranks/0/modes/fsdp/steps/exposed_us", 500}}},
        Case{"CopiesOfThirtyGathers",
             {"ce_allgather/fsdp30.json.gz"},
             {{"/ranks/0/purposes/all_gather/steps/count", 30}, {"/ranks/0/modes/fsdp/steps/count", 30}}},
        Case{"CopiesOfMegatron",
             {"ce_allgather/megatron_use_nccl_ub.json.gz"},
             {{"/ranks/0/modes/dp/steps/comm_us", 2400}}},
        skewed("EqualClocks", "clock_skew/skew_0"), skewed("Clocks900usApart", "clock_skew/skew_900us"),
        skewed("Clocks40msApart", "clock_skew/skew_40ms"), skewed("Clocks7sApart", "clock_skew/skew_7s"),
        Case{"StepsOfGraphs",
             {"cuda_graph_steps/t.json"},
             {{"/ranks/0/steps/comm_us", 300}, {"/ranks/0/steps/exposed_us", 200}}},
        experts("HighThroughputOnItsStream", "ep_streams/nccl_ep_ht_own.json"),
        experts("HighThroughputOnTheComputeStream", "ep_streams/nccl_ep_ht_same.json"),
        experts("LowLatencyOnItsStream", "ep_streams/nccl_ep_ll_own.json"),
        experts("LowLatencyOnTheComputeStream", "ep_streams/nccl_ep_ll_same.json"),
        Case{"LateGathers", {"fsdp_late_allgather/late.json"}, {{"/ranks/0/steps/exposed_us", 1800}}},
        Case{"PrefetchedGathers", {"fsdp_late_allgather/prefetched.json"}, {{"/ranks/0/steps/exposed_us", 300}}},
        Case{"Gloo",
             {"gloo_two_ranks/r0.json", "gloo_two_ranks/r1.json"},
             {{"/ranks/0/compute_us", 10}, {"/ranks/1/compute_us", 10}}},
        Case{"Experts",
             {"moe_ep/t.json"},
             {{"/ranks/0/modes/ep/steps/comm_us", 1200},
              {"/ranks/0/modes/ep/steps/exposed_us", 400},
              {"/by/hidden/0/attention_us", 300},
              {"/by/hidden/0/grouped_gemm_us", 500}}},
        Case{"CopyThatWaits", {"nccl_1436_wait_event/t.json"}, {{"/ranks/0/steps/exposed_us", 500}}},
        Case{"SameStream", {"olmo_386_same_stream/t.json"}, {{"/ranks/0/steps/exposed_us", 400}}},
        Case{
            "DependentLaunches",
            {"pdl_overlap/t.json"},
            {{"/ranks/0/steps/compute_us", 620}, {"/ranks/0/steps/comm_us", 500}, {"/ranks/0/steps/exposed_us", 180}}}),
    [](const auto& param) { return std::string(param.param.name); });

/// A file, and words of the first sentence or of a row of the answer.
struct Answer {
  const char* name;
  const char* file;
  std::vector<const char*> words;

  friend void PrintTo(const Answer& of, std::ostream* out) { *out << of.name; }
};

class AnswerToCase : public ::testing::TestWithParam<Answer> {};

TEST_P(AnswerToCase, NamesTheCause) {
  const std::string file = cases() + GetParam().file;
  if (cases().empty() || !fs::exists(file)) GTEST_SKIP() << "UNDERLAP_CASES names no folder with " << GetParam().file;
  const std::string out = expect_success({"analyze", "--details", file}, {.environment = {{"COLUMNS", "200"}}}).out;
  for (const char* words : GetParam().words) EXPECT_THAT(out, HasSubstr(words));
}

INSTANTIATE_TEST_SUITE_P(
    Of, AnswerToCase,
    ::testing::Values(
        Answer{"LateLaunch",
               "fsdp_late_allgather/late.json",
               {"the host launches it late, after waiting in cudaEventSynchronize"}},
        Answer{"Dependency", "nccl_1436_wait_event/t.json", {"CatArrayBatchedCopy"}},
        Answer{"SharedStream", "olmo_386_same_stream/t.json", {"compute shares its stream"}},
        Answer{
            "WholeGraphs", "nsys_cuda_graph/t.sqlite", {"may be communication", "--cuda-graph-trace=node", "At least"}},
        Answer{"NamelessKernels", "nsys_no_stringids/t.sqlite", {"may be communication", "unnamed kernels"}}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace underlap::bench
