// SPDX-License-Identifier: Apache-2.0
//
// Speed and memory of the virtual-time backend: operations per second on one core and bytes per operation, by number of
// operations. Ranks record a data-parallel step with both overlaps while it is simulated. The trace of all of it is
// kept, as a run keeps the trace of a block.
//
//   build/bin/sim_speed

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "impl/device/sim/machine.hpp"
#include "impl/plan/config.hpp"
#include "impl/step/simulation.hpp"

namespace underlap {
namespace {

constexpr std::int32_t kRanks = 8;

plan::Config config() {
  plan::Config c;
  c.model = {.preset = "",
             .num_layers = 32,
             .hidden_size = 4096,
             .ffn_hidden_size = 14336,
             .num_attention_heads = 32,
             .num_query_groups = 8,
             .vocab_size = 256,
             .seq_length = 256};
  c.parallel.data_parallel_size = kRanks;
  c.train.num_microbatches = 4;
  c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
  c.ddp.bucket_size = 134'217'728;
  c.environment.cuda_device_max_connections = 8;
  c.run.hardware = "h100-sxm";
  c.run.fold = false;
  return c;
}

// Resident memory in bytes, now or at its highest since reset_peak().
std::int64_t resident_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field, 0) == 0) return std::stoll(line.substr(field.size() + 1)) * 1024;
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void play(benchmark::State& state) {
  const plan::Config c = config();
  const auto data = model::TextData::unread(c.model.seq_length);
  const auto time = sim::make_time_model(c);
  std::uint64_t operations = 0;
  std::int64_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Simulation simulation(c, data, *time);
    simulation.play(0, 1);  // the operations of one step determine how many steps to run
    const std::uint64_t first = simulation.engine().num_operations();
    simulation.play(0, 1);
    const std::uint64_t of_a_step = simulation.engine().num_operations() - first;
    const auto steps =
        static_cast<std::int64_t>((static_cast<std::uint64_t>(state.range(0)) + of_a_step - 1) / of_a_step);
    const std::uint64_t begin = simulation.engine().num_operations();
    malloc_trim(0);  // return free memory, which would otherwise be reused uncounted
    reset_peak();
    const std::int64_t before = resident_bytes("VmRSS:");
    state.ResumeTiming();
    const Trace trace = simulation.play(1, steps);
    state.PauseTiming();
    operations += simulation.engine().num_operations() - begin;
    bytes += resident_bytes("VmHWM:") - before;
    state.ResumeTiming();
  }
  state.counters["operations"] = static_cast<double>(operations) / static_cast<double>(state.iterations());
  state.counters["bytes an operation"] = static_cast<double>(bytes) / static_cast<double>(operations);
  state.counters["operations a second"] =
      benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}
BENCHMARK(play)->RangeMultiplier(10)->Range(10'000, 10'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace underlap
