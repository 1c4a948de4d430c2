// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_summary.hpp"

#include <sstream>

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

constexpr int kNarrow = 80;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The text without line breaks and what sets further lines in, for phrases that may be wrapped.
std::string joined(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n')
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  return out;
}

void fits(const std::string& text, std::size_t width) {
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), width) << line;
}

const std::string kOnOff =
    "model: {preset: tiny}\ndata_parallel_size: 2\ncomm_overlap: {tp_comm_overlap: true, bucket_size: 200000}\n"
    "matrix:\n  overlap:\n"
    "    - {name: off, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false}\n"
    "    - {name: on, comm_overlap.overlap_grad_reduce: true, comm_overlap.overlap_param_gather: true}\n";

TEST(PlanOverview, TellsCellsApartByWhatIsInEffect) {
  const std::string text = overview(parse(kOnOff, "f"), {.width = 160});
  EXPECT_THAT(lines_of(text),
              Contains(AllOf(StartsWith("on "), HasSubstr("overlap_grad_reduce"), HasSubstr("overlap_param_gather"))));
  EXPECT_THAT(lines_of(text), Contains(AllOf(StartsWith("off "), Not(HasSubstr("overlap_")))));
  EXPECT_THAT(text, Not(HasSubstr("preset"))) << "what is the same in all cells sets none apart";
}

TEST(PlanOverview, TellsOfAGateOnceAndOfTheCellsThatANoticeIsFor) {
  const std::string text = joined(overview(parse(kOnOff, "f"), {.width = kNarrow}));
  const std::string gate = "f:3:16: comm_overlap.tp_comm_overlap was requested as true but is false";
  ASSERT_THAT(text, HasSubstr(gate));
  EXPECT_THAT(text.substr(text.find(gate) + 1), Not(HasSubstr(gate)));
  EXPECT_THAT(text, HasSubstr("bucket_size has no effect: neither gradients nor parameters overlap, so each has one "
                              "bucket [1 of 2 cells: off]"));
}

TEST(PlanOverview, FitsTheTerminal) {
  std::string yaml = kOnOff;
  yaml += "  train.data: [\"/" + std::string(150, 'd') + "/a\", \"/" + std::string(150, 'd') + "/b\"]\n";
  fits(overview(parse(yaml, "f"), {.width = kNarrow}), kNarrow);
  fits(overview(parse(kOnOff, "f"), {.width = kNarrow}), kNarrow);
}

TEST(PlanOfACell, SaysWhatIsInEffectAndWhyWithinTheTerminal) {
  const Matrix matrix = parse(kOnOff, "f");
  const std::string text = cell_summary(matrix.cells.at(1), {.width = kNarrow});
  fits(text, kNarrow);
  EXPECT_THAT(joined(text), HasSubstr("NOT AS REQUESTED f:3:16: comm_overlap.tp_comm_overlap"));
  EXPECT_THAT(lines_of(text), Contains("tiny on 2 ranks: DP 2; 1 microbatch per step; bf16_mixed"));
  EXPECT_THAT(text, Not(HasSubstr("use_distributed_optimizer"))) << "left at its default";
}

// What everybody asks for who pretrains Llama 3 70B, and nothing else.
const std::string kClean =
    "model: {preset: llama3-70b, tensor_model_parallel_size: 4, pipeline_model_parallel_size: 4,\n"
    "        virtual_pipeline_model_parallel_size: 5, sequence_parallel: true}\n"
    "data_parallel_size: 8\ntrain: {micro_batch_size: 1, num_microbatches: 16}\n"
    "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192}\n"
    "environment: {gpu_arch: h100}\n";

TEST(PlanOfACell, FitsAScreenWhereNothingIsWrong) {
  const std::string text = cell_summary(parse(kClean, "f").cells.front(), {.width = kNarrow});
  fits(text, kNarrow);
  EXPECT_LE(lines_of(text).size(), 24U) << text;
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("EXPOSED"), HasSubstr("NOT AS REQUESTED"), HasSubstr("assumed")))) << text;
}

TEST(PlanOfACell, BeginsWithWhatItAssumesAndWhatItExposes) {
  const std::string yaml =
      "model: {preset: llama3-8b, tensor_model_parallel_size: 2, sequence_parallel: true}\n"
      "comm_overlap: {overlap_grad_reduce: false}\ndata_parallel_size: 2\n";
  const std::string text = joined(cell_summary(parse(yaml, "f").cells.front(), {.width = kNarrow}));
  EXPECT_THAT(text, HasSubstr("assumed, because not configured: environment.gpu_arch h100 EXPOSED "
                              "f:2:16: every gradient reduction is exposed: overlap_grad_reduce is false"));
  EXPECT_THAT(text, HasSubstr("every gather and reduction of a layer's forward pass is exposed"));
}

TEST(PlanOfACell, SaysWhichOfTwoContradictingRequestsCounts) {
  const std::string yaml =
      "model: {preset: tiny}\ndata_parallel_size: 2\nddp: {bucket_size: 5}\ncomm_overlap: {bucket_size: 7}\n";
  EXPECT_THAT(joined(cell_summary(parse(yaml, "f").cells.front(), {.width = kNarrow})),
              HasSubstr("CONTRADICTIONS f:3:7: ddp.bucket_size is 5, but comm_overlap.bucket_size is 7 at f:4:16"));
}

TEST(PlanOfACell, TellsOneReasonThatRunRefusesItForAndCountsSeveral) {
  Matrix matrix = parse("model: {preset: tiny}\n", "f");
  Plan& plan = matrix.cells.front().plan;
  plan.not_run = {{"f:1:1", "the first reason"}};
  const auto summary = [&] { return cell_summary(matrix.cells.front(), {.width = kNarrow}); };
  EXPECT_THAT(joined(summary()), HasSubstr("cannot run here f:1:1: the first reason"));
  plan.not_run.push_back({"f:2:2", "the second reason"});
  EXPECT_THAT(lines_of(summary()), Contains("cannot run here, for 2 reasons (listed by --all)"));
  EXPECT_THAT(summary(), Not(HasSubstr("the first reason")));
  EXPECT_THAT(joined(to_text(plan, {.width = kNarrow})),
              AllOf(HasSubstr("the first reason"), HasSubstr("the second reason")));
}

TEST(PlanOverview, SaysForWhichCellsRunRefusesIt) {
  Matrix matrix = parse(kOnOff, "f");
  matrix.cells.at(1).plan.not_run = {{"f:1:1", "one"}, {"f:1:2", "two"}};
  EXPECT_THAT(joined(overview(matrix, {.width = 160})),
              HasSubstr("cannot run here, for 2 reasons (listed by --all) [1 of 2 cells: on]"));
}

TEST(CommonNotices, AreThoseOfEveryCell) {
  EXPECT_THAT(common_notices(parse(kOnOff, "f")), IsEmpty()) << "bucket_size has an effect in one of them";
  EXPECT_THAT(common_notices(parse(kOnOff + "run: {hardware: h100-sxm}\n", "f")), SizeIs(1));
}

}  // namespace
}  // namespace underlap::plan
