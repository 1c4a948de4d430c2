// SPDX-License-Identifier: Apache-2.0
// Who runs it for the first time: help, lists, and output that goes somewhere else.
#include <fmt/format.h>
#include <signal.h>

#include <sstream>

#include "impl/cp/attention.hpp"
#include "impl/device/sim/hardware.hpp"
#include "impl/dp/technique.hpp"
#include "impl/plan/plan.hpp"
#include "impl/plan/userbuffers.hpp"
#include "impl/pp/technique.hpp"
#include "impl/tp/technique.hpp"
#include "kernels/registry.hpp"
#include "profiler/formats/format.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

/// Lines that do not begin with a blank: one an entry, below the title and the rule of a table.
std::size_t num_entries(const std::string& text) {
  std::istringstream stream(text);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("---"))
      count = 0;
    else if (!line.empty() && line.front() != ' ')
      ++count;
  return count;
}

TEST(FirstUse, ListsAsMuchAsTheRegistriesHold) {
  const auto listed = [](const char* what) { return num_entries(underlap_program({"list", what}).out); };
  EXPECT_EQ(listed("techniques"), dp::GradReduces::all().size() + dp::ParamGathers::all().size() +
                                      tp::GatherGemms::all().size() + tp::GemmScatters::all().size() +
                                      tp::CollectivesDuringGemm::all().size() + tp::WgradDrains::all().size() +
                                      pp::Pipelines::all().size() + cp::Attentions::all().size());
  EXPECT_EQ(listed("kernels"), kernels::registered_kernels().size());
  EXPECT_EQ(listed("formats"), formats::formats().size());
  EXPECT_EQ(listed("presets"), plan::userbuffers_preset_names().size());  // below the models, whose shapes are tested
  EXPECT_EQ(listed("knobs"), plan::known_knobs().size());
  EXPECT_EQ(listed("hardware"), sim::hardware_names().size());
}

TEST(FirstUse, HardwareIsListedWithItsLimitsAndWhatIsUnverified) {
  const std::string text = underlap_program({"list", "hardware"}).out;
  EXPECT_THAT(text, HasSubstr("h100-sxm     8 x NVIDIA H100"));
  EXPECT_THAT(text,
              HasSubstr("bf16 989 TFLOP/s, fp8 1979 TFLOP/s, HBM 85.52 GB at 3350 GB/s, 132 SMs, NVLink 450 GB/s"));
  EXPECT_THAT(text, HasSubstr("fp8 none"));
  const sim::Hardware h100 = sim::load_hardware("h100-sxm");
  EXPECT_THAT(text, HasSubstr(fmt::format("unverified: {} of {} figures", h100.unverified.size(), h100.num_figures)));
}

TEST(FirstUse, ReaderThatGoesAwayEndsTheProgramWithoutAWord) {
  const Outcome outcome = underlap_program({"list", "knobs"}, {.closed_pipe = true});
  EXPECT_EQ(outcome.signal, SIGPIPE);
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(FirstUse, MissingStandardStreamsSpoilNoFile) {
  const RunFolder folder(tiny_config("data_parallel_size: 2\n"));
  expect_success(folder.arguments(), {.closed_streams = true});
  EXPECT_EQ(folder.results().blocks_done, 2);
  const Outcome analyzed = expect_success({"analyze", folder.traces().front()});
  EXPECT_THAT(analyzed.out, Not(HasSubstr("skipped")));
}

}  // namespace
}  // namespace underlap::bench
