// SPDX-License-Identifier: Apache-2.0
// Each folder of tests/data/plan holds input.yaml and expected.txt. UNDERLAP_UPDATE_GOLDEN=1 rewrites the latter.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(UNDERLAP_SOURCE_DIR) / "tests/data/plan";

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string render(const Matrix& matrix) {
  std::string text;
  for (const std::string& line : error_lines(matrix)) text += line + "\n";
  if (matrix.has_errors()) return text;
  for (const Cell& cell : matrix.cells) text += "== " + cell.name + "\n" + text_of(cell.plan) + "\n";
  return text;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

class PlanGolden : public testing::TestWithParam<std::string> {};

TEST_P(PlanGolden, PlansAsExpected) {
  const auto folder = kFolder / GetParam();
  const std::string text = render(parse(read_text(folder / "input.yaml"), "input.yaml"));
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) std::ofstream(folder / "expected.txt") << text;
  EXPECT_EQ(text, read_text(folder / "expected.txt"));
}

INSTANTIATE_TEST_SUITE_P(Cases, PlanGolden, testing::ValuesIn(cases()), CaseName());

}  // namespace
}  // namespace underlap::plan
