// SPDX-License-Identifier: Apache-2.0
// Writing, reading and analysing a trace of a million slices: slices/s, and bytes a slice in the file.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "profiler/analysis/analysis.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/perfetto/writer.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap {
namespace {

constexpr std::int32_t kSteps = 500;
constexpr std::int32_t kOperations = 1000;  ///< per step and rank, a fifth of them communication
constexpr std::int32_t kRanks = 2;
constexpr std::int64_t kStart = 1'700'000'000'000'000'000;  ///< as a Unix clock: long numbers in the file
constexpr std::int64_t kLength = 10'000;                    ///< of an operation, nanoseconds

// One step of one rank: compute, except that every fifth operation is a gather on its own track.
void add_step(Trace& trace, std::int32_t rank, std::int32_t step) {
  const Tag gather{.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("param_all_gather"), .step = step};
  for (std::int32_t i = 0; i < kOperations; ++i) {
    const std::int64_t start = kStart + (std::int64_t{step} * kOperations + i) * kLength;
    const Tag compute{.direction = Direction::forward, .layer = i % 32, .microbatch = i % 4, .step = step};
    const bool communicates = i % 5 == 0;
    const Slice slice{.track = static_cast<std::uint32_t>(2 * rank + (communicates ? 1 : 0)),
                      .start_ns = start,
                      .duration_ns = kLength - 100,
                      .name = communicates ? intern("all_gather") : intern("gemm " + std::to_string(i % 32)),
                      .operation = static_cast<std::uint32_t>(i + 1),
                      .tag = communicates ? gather : compute};
    if (!communicates)
      trace.add(slice);
    else
      trace.add(slice,
                {.group = 0,
                 .sequence = static_cast<std::uint64_t>(i),
                 .last_arrival_ns = start + 50,
                 .cpu_ns = 700,
                 .transfers = {{.collective = Collective::all_gather, .bytes = 1 << 20, .bytes_on_wire = 1 << 19}}});
  }
  trace.marks.push_back({rank, 0, step, kStart + std::int64_t{step + 1} * kOperations * kLength});
}

const Trace& million_slices() {
  static const Trace trace = [] {
    Trace t;
    for (std::int32_t rank = 0; rank < kRanks; ++rank) {
      t.add_track({rank, 0, "compute"});
      t.add_track({rank, 1, "dp"});
    }
    t.add_group({intern("param_all_gather"), {0, 1}});
    for (std::int32_t step = 0; step < kSteps; ++step)
      for (std::int32_t rank = 0; rank < kRanks; ++rank) add_step(t, rank, step);
    return t;
  }();
  return trace;
}

std::filesystem::path file(bool compressed) {
  return std::filesystem::temp_directory_path() /
         ("underlap-bench-" + std::to_string(::getpid()) + (compressed ? ".pftrace.zst" : ".pftrace"));
}

void count_slices(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(million_slices().size()));
}

void write_trace(benchmark::State& state) {
  const auto path = file(state.range(0) != 0);
  for (auto _ : state) formats::write_trace(path, million_slices());
  state.counters["bytes_per_slice"] =
      static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(million_slices().size());
  count_slices(state);
  std::filesystem::remove(path);
}

void read_trace(benchmark::State& state) {
  const auto path = file(state.range(0) != 0);
  formats::write_trace(path, million_slices());
  for (auto _ : state) benchmark::DoNotOptimize(formats::read_trace(path).size());
  count_slices(state);
  std::filesystem::remove(path);
}

void summarize(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(analysis::summarize(million_slices()).ranks.size());
  count_slices(state);
}

BENCHMARK(write_trace)->ArgName("zst")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(read_trace)->ArgName("zst")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(summarize)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace underlap
