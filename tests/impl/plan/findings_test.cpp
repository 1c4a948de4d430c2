// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/findings.hpp"

#include "impl/plan/plan_diff.hpp"
#include "platform/json.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::Field;

const std::string kMixed =
    "model: {preset: tiny}\ndata_parallel_size: 2\nddp: {bucket_size: 5, overlap_param_gather: false}\n"
    "comm_overlap: {bucket_size: 7, overlap_grad_reduce: false}\n";

TEST(Findings, BeginWithTheWeightiest) {
  std::vector<std::string_view> kinds;
  for (const Finding& finding : findings(parse(kMixed, "f"))) kinds.push_back(finding.kind);
  EXPECT_THAT(kinds, ElementsAre("not-as-requested", "exposed", "contradiction"));
}

TEST(Findings, AreErrorsAloneWhereThereAreAny) {
  const std::vector<Finding> all = findings(parse(kMixed + "train: 4\n", "f"));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, "error");
}

TEST(UnmetRequests, AreWhatIsOverruledAndWhatIsAskedOfNothing) {
  const std::string tiny = "model: {preset: tiny}\n";
  EXPECT_THAT(unmet_requests(plan_of(tiny + "comm_overlap: {tp_comm_overlap: true}\n")),
              ElementsAre(StartsWith("comm_overlap.tp_comm_overlap was requested as true but is false: ")));
  EXPECT_THAT(unmet_requests(plan_of("model: {preset: tiny, cp_comm_type: a2a}\n"
                                     "extensions: {cp_overlap: true, release_by_event: true}\n")),
              testing::UnorderedElementsAre("model.cp_comm_type was requested as \"a2a\" but has no effect: "
                                            "context_parallel_size is 1",
                                            "extensions.cp_overlap was requested as true but has no effect: "
                                            "context_parallel_size is 1",
                                            "extensions.release_by_event was requested as true but has no effect: "
                                            "pipeline_model_parallel_size is 1"));
}

// A cell of a matrix with overlap off asks for nothing, whatever the file says of overlap for all its cells.
TEST(UnmetRequests, AreNoneOfACellThatWantsNoOverlap) {
  EXPECT_THAT(unmet_requests(plan_of("model: {preset: tiny, context_parallel_size: 1}\ndata_parallel_size: 2\n"
                                     "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false, "
                                     "bucket_size: 1000}\nextensions: {cp_overlap: false}\n")),
              IsEmpty());
}

TEST(Findings, KnowFileLineAndColumn) {
  const Location location = location_of("a:b/config.yaml:3:15");
  EXPECT_EQ(location.file, "a:b/config.yaml");
  EXPECT_EQ(location.line, 3);
  EXPECT_EQ(location.column, 15);
  EXPECT_EQ(location_of("--set a.b").line, 0);
  EXPECT_EQ(location_of("--set a.b").file, "--set a.b");
}

TEST(Findings, AreCommandsOfAGithubWorkflow) {
  EXPECT_EQ(to_github({{"exposed", "warning", {"a,b.yaml:3:5", "100 % of\nit: exposed"}}}),
            "::warning file=a%2Cb.yaml,line=3,col=5,title=underlap exposed::100 %25 of%0Ait: exposed\n");
  EXPECT_THAT(to_github({{"notice", "note", {"f:1:1", "x"}}}), StartsWith("::notice file=f,"));
}

TEST(Findings, AreALogOfSarif) {
  const auto log = parse_json(to_sarif(findings(parse(kMixed, "f"))));
  EXPECT_EQ(log["version"], "2.1.0");
  const auto& run = log["runs"][0];
  EXPECT_EQ(run["results"].size(), 3U);
  const auto& place = run["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "f");
  EXPECT_EQ(place["region"]["startLine"], 3);
  for (const auto& result : run["results"]) {
    std::vector<std::string> ids;
    for (const auto& rule : run["tool"]["driver"]["rules"]) ids.push_back(rule["id"]);
    EXPECT_THAT(ids, Contains(result["ruleId"].get<std::string>()));
  }
}

TEST(PlanDiff, NamesEffectsAndNotRequests) {
  const std::string model = "model: {preset: tiny}\ndata_parallel_size: 2\n";
  const Plan automatic = plan_of(model), same = plan_of(model + "comm_overlap: {overlap_grad_reduce: true}");
  EXPECT_THAT(differences(automatic, same), IsEmpty()) << "asked for, and what the rule gives";
  EXPECT_EQ(differences_text({}, {}), "no difference in effect\n");
  const auto other = differences(automatic, plan_of(model + "comm_overlap: {bucket_size: 100000}"));
  EXPECT_THAT(other, Contains(Field(&Difference::what, "comm_overlap.bucket_size")));
  EXPECT_THAT(other, Contains(Field(&Difference::what, "buckets of stage 0, chunk 0")));
  EXPECT_THAT(differences_text(other, {.width = 120}), HasSubstr("134217728"));
}

TEST(PlanDiff, LeavesOutWhatOneOfThemHasNoUseFor) {
  std::vector<std::string> names;
  for (const Difference& d :
       differences(plan_of("model: {preset: tiny}"), plan_of("model: {preset: tiny, tensor_model_parallel_size: 2}")))
    names.push_back(d.what);
  EXPECT_THAT(names, Not(Contains("model.tp_comm_overlap_ag"))) << "at its default";
}

}  // namespace
}  // namespace underlap::plan
