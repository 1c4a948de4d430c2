// SPDX-License-Identifier: Apache-2.0
// README's tables and timelines are printed from results/: this fails where they are stale, and rewrites them where
// UNDERLAP_UPDATE_GOLDEN is set.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "profiler/analysis/timeline_text.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/report/report.hpp"

namespace underlap::bench {
namespace {

const std::filesystem::path kRoot = UNDERLAP_SOURCE_DIR;
constexpr int kTableWidth = 172;
constexpr int kTimelineWidth = 118;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string table(const std::filesystem::path& run) {
  const report::RunResults results = report::read_results(run);
  const report::RunInfo& info = results.info;
  return fmt::format("{}\ncommand: {}\nmachine: {}, {} CPUs, {}; Underlap {}, commit {}\n",
                     report_table(results, kTableWidth, false), info.command, info.cpu_model, info.num_cpus,
                     info.operating_system, info.version, info.commit);
}

// The last step of the first block of the cell whose trace is kept under the short name.
std::string timeline(const std::filesystem::path& run, const std::string& cell) {
  const Trace trace = formats::read_trace(run / "traces" / (cell + ".pftrace.zst"));
  const std::vector<analysis::Window> windows = analysis::find_windows(trace).windows;
  EXPECT_FALSE(windows.empty());
  return analysis::text_timeline(trace,
                                 {.block = windows.back().block, .step = windows.back().step, .width = kTimelineWidth});
}

std::string generated(const std::string& marker) {
  std::istringstream words(marker);
  std::string kind;
  std::string run;
  std::string cell;
  words >> kind >> run >> cell;
  return kind == "table" ? table(kRoot / run) : timeline(kRoot / run, cell);
}

// The README with every generated part made anew.
std::string renewed(const std::string& readme) {
  std::istringstream lines(readme);
  std::string result;
  bool skipping = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "<!-- end -->") skipping = false;
    if (!skipping) result += line + "\n";
    const bool begins = line.starts_with("<!-- table ") || line.starts_with("<!-- timeline ");
    if (!begins) continue;
    skipping = true;
    result += "```\n" + generated(line.substr(5, line.size() - 9)) + "```\n";
  }
  return result;
}

TEST(Readme, ShowsWhatItsResultsSay) {
  const std::string readme = read(kRoot / "README.md");
  const std::string expected = renewed(readme);
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) std::ofstream(kRoot / "README.md") << expected;
  EXPECT_EQ(readme, expected) << "stale: UNDERLAP_UPDATE_GOLDEN=1 renews it";
}

}  // namespace
}  // namespace underlap::bench
