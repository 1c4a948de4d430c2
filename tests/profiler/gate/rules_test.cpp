// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/rules.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/profiler/temporary_folder.hpp"

namespace underlap::gate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Rules rules_of(const std::string& yaml) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "gate.yaml", yaml);
  return with_rules_of(default_rules({.share = 0.05}), folder / "gate.yaml");
}

std::string complaint(const std::string& yaml) {
  try {
    rules_of(yaml);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Tolerance, IsAShareATimeOrBoth) {
  EXPECT_EQ(parse_tolerance("5%"), (Tolerance{.share = 0.05}));
  EXPECT_EQ(parse_tolerance("300us"), (Tolerance{.ns = 300e3}));
  EXPECT_EQ(parse_tolerance("2.5% or 1ms"), (Tolerance{.share = 0.025, .ns = 1e6}));
  EXPECT_EQ(parse_tolerance("0"), Tolerance{});
  for (const char* text : {"", "5", "-1%", "5 percent", "nan%", "inf%", "2% 100us", "2% or", "%"})
    EXPECT_THROW(parse_tolerance(text), std::invalid_argument) << text;
}

TEST(GateRules, OfSeveralThatMatchTheLastCounts) {
  const Rules rules = rules_of(
      "rules:\n"
      "- {metric: exposed.*, max_regression: 1% or 50us}\n"
      "- {metric: exposed.pp, cells: \"big *\", inconclusive: counts}\n"
      "- {cells: no_comm, judge: false}\n");
  EXPECT_EQ(rules.find("step", "a")->max_regression, (Tolerance{.share = 0.05}));
  EXPECT_EQ(rules.find("exposed.dp", "a")->max_regression, (Tolerance{.share = 0.01, .ns = 50e3}));
  EXPECT_FALSE(rules.find("exposed.pp", "a")->decides);
  EXPECT_TRUE(rules.find("exposed.pp", "big a")->decides);
  EXPECT_EQ(rules.find("exposed.pp", "big a")->max_regression, (Tolerance{.share = 0.01, .ns = 50e3}));
  EXPECT_FALSE(rules.find("bytes", "no_comm")->is_judged);
}

TEST(GateRules, ErrorsNamePlaceAndMend) {
  EXPECT_THAT(complaint("rules:\n- {metric: stepp}\n"), AllOf(HasSubstr("gate.yaml:2:12"), HasSubstr("one of step")));
  EXPECT_THAT(complaint("rules:\n- {metric: step, max: 3%}\n"),
              AllOf(HasSubstr("gate.yaml:2:18"), HasSubstr("unknown key \"max\""), HasSubstr("max_regression")));
  EXPECT_THAT(complaint("rules:\n- {max_regression: 3}\n"),
              AllOf(HasSubstr(":2:20"), HasSubstr("\"3\" is no tolerance")));
  EXPECT_THAT(complaint("rules:\n- {judge: no}\n"), HasSubstr("it takes true or false"));
  EXPECT_THAT(complaint("rules: 3\n"), HasSubstr("has a list of rules"));
  EXPECT_THAT(complaint("level: 3\nrules: [{metric: step}]\n"), HasSubstr("unknown key \"level\""));
  EXPECT_THAT(complaint("[1]\n"), HasSubstr("has a list of rules"));
  EXPECT_THAT(complaint(""), HasSubstr("is empty"));
  EXPECT_THAT(complaint("rules: [\n"), HasSubstr("gate.yaml:"));
}

}  // namespace
}  // namespace underlap::gate
