// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_summary.hpp"

#include <sstream>

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

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
  EXPECT_THAT(lines_of(text), Contains(AllOf(testing::StartsWith("on "), HasSubstr("overlap_grad_reduce"),
                                             HasSubstr("overlap_param_gather"))));
  EXPECT_THAT(lines_of(text), Contains(AllOf(testing::StartsWith("off "), Not(HasSubstr("overlap_")))));
  EXPECT_THAT(text, Not(HasSubstr("preset"))) << "what is the same in all cells sets none apart";
}

TEST(PlanOverview, TellsOfAGateOnceAndOfTheCellsThatANoticeIsFor) {
  const std::string text = joined(overview(parse(kOnOff, "f"), {.width = kNarrow}));
  const std::string gate = "f:3:16: comm_overlap.tp_comm_overlap was requested as true and is false";
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
  EXPECT_THAT(lines_of(text),
              Contains(AllOf(testing::StartsWith("data_parallel_size"), HasSubstr("2"), HasSubstr("line 2"))));
  EXPECT_THAT(text, Not(HasSubstr("use_distributed_optimizer"))) << "left at its default";
}

TEST(PlanOfACell, SaysTheFlagThatSetAKnob) {
  const Matrix matrix = parse("model: {preset: tiny}", "f", {{"run.link_gbps", "4"}});
  EXPECT_THAT(cell_summary(matrix.cells.front(), {.width = kNarrow}), HasSubstr("by --link-gbps"));
}

TEST(CommonNotices, AreThoseOfEveryCell) {
  EXPECT_THAT(common_notices(parse(kOnOff, "f")), testing::IsEmpty()) << "bucket_size has an effect in one of them";
  EXPECT_THAT(common_notices(parse(kOnOff + "run: {hardware: h100-sxm}\n", "f")), SizeIs(1));
}

}  // namespace
}  // namespace underlap::plan
