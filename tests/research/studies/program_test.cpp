// SPDX-License-Identifier: Apache-2.0
// underlap-study as who makes results/ anew meets it.
#include <fmt/format.h>

#include <sstream>

#include "research/studies/study.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const fs::path kProject = UNDERLAP_SOURCE_DIR;

// A study of a hundredth of a second.
struct SmallStudy {
  explicit SmallStudy(const std::string& yaml = "study: dp_reduction_error\ngroup_sizes: [2]\nelements: 100\n") {
    write_text(folder / "study.yaml", yaml);
  }
  std::string file() const { return folder / "study.yaml"; }
  TemporaryFolder folder;
};

TEST(StudyProgram, ListsItsStudiesWithACommandEach) {
  const Outcome list = expect_success({});
  for (const Study& study : all_studies())
    EXPECT_THAT(list.out, HasSubstr(fmt::format("underlap-study {} {}", study.name, study.example)));
  EXPECT_THAT(underlap_program({"--help"}).out, HasSubstr(list.out));
}

TEST(StudyProgram, ExamplesNameFilesOfTheirStudies) {
  for (const Study& study : all_studies()) {
    std::istringstream words(study.example);
    std::string file;
    words >> file;
    EXPECT_THAT(read_text(kProject / file), HasSubstr(fmt::format("\nstudy: {}\n", study.name)));
  }
}

TEST(StudyProgram, WritesResultsAndReportWhereItIsTold) {
  const SmallStudy study;
  const Outcome run = expect_success({"dp_reduction_error", study.file(), "-o", study.folder / "a/b"});
  EXPECT_THAT(run.out, HasSubstr("bf16_wire_fp32_sum"));
  EXPECT_THAT(run.out, HasSubstr("a/b/results.json"));
  EXPECT_EQ(parse_json(read_text(study.folder / "a/b/results.json"))["study"]["elements"], 100);
  EXPECT_THAT(read_text(study.folder / "a/b/report.md"), HasSubstr("| bf16_wire_fp32_sum |"));
}

TEST(StudyProgram, ReplacesWhatItLeftAndNoRun) {
  const SmallStudy study;
  const Words arguments{"dp_reduction_error", study.file(), "-o", study.folder / "run"};
  expect_success(arguments);
  expect_success(arguments);
  const std::string run = "{\"schema\": \"underlap.results/1\"}";
  write_text(study.folder / "run/results.json", run);
  EXPECT_THAT(underlap_program(arguments), fails_with(2, "already contains a run"));
  EXPECT_EQ(read_text(study.folder / "run/results.json"), run);
}

TEST(StudyProgram, PrintsTheTableAloneWithoutAFolder) {
  const SmallStudy study;
  const Outcome run = expect_success({"dp_reduction_error", study.file()});
  EXPECT_THAT(run.out, HasSubstr("bf16_wire_fp32_sum"));
  EXPECT_THAT(run.out, Not(HasSubstr("results:")));
}

TEST(StudyProgram, RefusesWhatItDoesNotKnow) {
  const SmallStudy study;
  EXPECT_THAT(underlap_program({"claims", study.file()}),
              fails_with(2, "no study \"claims\"; available: overlap_claims"));
  EXPECT_THAT(underlap_program({"overlap_claims", study.file()}), fails_with(2, "study must be overlap_claims"));
  EXPECT_THAT(underlap_program({"overlap_claims"}), fails_with(2, "overlap_claims needs FILE"));
  EXPECT_THAT(underlap_program({"overlap_claims", study.folder / "none"}), fails_with(2, "no such file"));
  EXPECT_THAT(underlap_program({"overlap_claims", study.file(), "--outptu"}), fails_with(2, "--outptu"));
  EXPECT_THAT(underlap_program({"dp_reduction_error", study.file(), "-o", study.file() + "/run"}),
              fails_with(3, "run"));
}

}  // namespace
}  // namespace underlap::bench
