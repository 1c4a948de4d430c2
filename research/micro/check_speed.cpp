// SPDX-License-Identifier: Apache-2.0
//
// What `underlap check` takes for a data-parallel step: recording the programs of all ranks, and proving them. Two
// steps of four layers of llama3-8b, both overlaps on, buckets as they are by default.
//
//   build/bin/check_speed

#include <benchmark/benchmark.h>

#include "impl/device/check/check.hpp"
#include "impl/plan/plan.hpp"
#include "impl/step/record_programs.hpp"

namespace underlap {
namespace {

constexpr std::int32_t kSteps = 2;

plan::Config config_of(std::int64_t num_ranks) {
  const std::string yaml =
      "model: {preset: llama3-8b, num_layers: 4}\ndata_parallel_size: " + std::to_string(num_ranks) +
      "\ncomm_overlap: {overlap_grad_reduce: true, overlap_param_gather: true}\n";
  return plan::parse(yaml, "check_speed").cells.front().plan.config;
}

void record(benchmark::State& state) {
  const plan::Config config = config_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(record_programs(config, kSteps));
}

void check_recorded(benchmark::State& state) {
  const std::vector<Program> programs = record_programs(config_of(state.range(0)), kSteps);
  check::CheckReport report;
  for (auto _ : state) report = check::check_programs(programs);
  if (!report.findings.empty()) state.SkipWithError("the schedule has findings");
  state.counters["operations"] = static_cast<double>(report.num_operations);
}

BENCHMARK(record)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(check_recorded)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace underlap
