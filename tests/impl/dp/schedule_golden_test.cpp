// SPDX-License-Identifier: Apache-2.0
// Each folder of tests/data/schedules/<technique>/<case> holds input.yaml, which opens with what is exposed and why,
// and expected.txt: that, the timeline and the split. One column is a millisecond. UNDERLAP_UPDATE_GOLDEN=1 rewrites
// expected.txt.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/timeline_text.hpp"
#include "tests/impl/dp/virtual_schedule.hpp"

namespace underlap::dp {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(UNDERLAP_SOURCE_DIR) / "tests/data/schedules";
constexpr std::int64_t kMillisecond = 1'000'000;

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

ScheduleCase case_of(const YAML::Node& yaml) {
  ScheduleCase c;
  const auto ms = [&](const char* key) { return yaml[key].as<std::int64_t>(0) * kMillisecond; };
  c.sizes = yaml["sizes"].as<std::vector<std::int64_t>>(c.sizes);
  c.forward_ns = ms("forward_ms");
  c.backward_ns = ms("backward_ms");
  c.gather_ns = ms("gather_ms");
  c.reduce_ns = ms("reduce_ms");
  c.local_sum_ns = ms("local_sum_ms");
  c.optimizer_ns = ms("optimizer_ms");
  c.num_microbatches = yaml["num_microbatches"].as<std::int32_t>(1);
  c.connections = yaml["connections"].as<std::int32_t>(0);
  c.config.ddp.average_in_collective = true;
  c.config.ddp.use_distributed_optimizer = yaml["use_distributed_optimizer"].as<bool>(true);
  c.config.ddp.overlap_grad_reduce = yaml["overlap_grad_reduce"].as<bool>(false);
  c.config.ddp.overlap_param_gather = yaml["overlap_param_gather"].as<bool>(false);
  c.config.ddp.reduce_scatter_with_fp32_accumulation = yaml["reduce_scatter_with_fp32_accumulation"].as<bool>(false);
  c.config.extensions.param_gather_prefetch = yaml["param_gather_prefetch"].as<std::int32_t>(1);
  return c;
}

std::string render(const std::string& about, const Trace& trace) {
  const analysis::Window window = analysis::find_windows(trace).windows.at(0);
  const analysis::Split split = analysis::split_window(trace, window);
  const auto ms = [](std::int64_t ns) { return ns / kMillisecond; };
  constexpr std::int32_t kLabel = 17;  // "rank 0 compute |" and the closing bar
  const auto width = static_cast<std::int32_t>(ms(window.length_ns())) + kLabel;
  return about + "\n" + analysis::text_timeline(trace, {.block = 0, .step = 1, .width = width}) +
         fmt::format("\nstep {} ms = compute only {} + hidden {} + exposed {} + idle {}\n", ms(window.length_ns()),
                     ms(split.compute_only_ns), ms(split.hidden_ns), ms(split.exposed_ns()), ms(split.idle_ns));
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& technique : fs::directory_iterator(kFolder))
    for (const auto& entry : fs::directory_iterator(technique))
      names.push_back(fs::relative(entry.path(), kFolder).string());
  std::sort(names.begin(), names.end());
  return names;
}

class ScheduleGolden : public testing::TestWithParam<std::string> {};

TEST_P(ScheduleGolden, IsDrawnAsExpected) {
  const fs::path folder = kFolder / GetParam();
  const YAML::Node yaml = YAML::LoadFile(folder / "input.yaml");
  const ScheduleCase c = case_of(yaml);
  const std::string technique = fs::path(GetParam()).parent_path();
  const auto is_it = [&](const auto& t) { return t.name == technique && t.in_effect(c.config); };
  EXPECT_TRUE(std::ranges::any_of(grad_reduce_techniques(), is_it) ||
              std::ranges::any_of(param_gather_techniques(), is_it))
      << "the folder's technique is not the one in effect";
  const std::string text = render(yaml["exposed"].as<std::string>(), VirtualSchedule(c).play());
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) std::ofstream(folder / "expected.txt") << text;
  EXPECT_EQ(text, read_text(folder / "expected.txt"));
}

INSTANTIATE_TEST_SUITE_P(Cases, ScheduleGolden, testing::ValuesIn(cases()), [](const auto& golden) {
  std::string name = golden.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

TEST(ScheduleGolden, EveryTechniqueHasACase) {
  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(kFolder)) folders.insert(entry.path().filename());
  for (const auto& technique : grad_reduce_techniques()) EXPECT_TRUE(folders.contains(std::string(technique.name)));
  for (const auto& technique : param_gather_techniques()) EXPECT_TRUE(folders.contains(std::string(technique.name)));
}

}  // namespace
}  // namespace underlap::dp
