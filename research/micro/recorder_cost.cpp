// SPDX-License-Identifier: Apache-2.0
//
// What the recorder adds to one operation of a stream, in nanoseconds of its thread: the two clock reads and the slot
// that impl/device/host takes for it. A communication also fills and moves its record. "drain" is the part that
// happens between blocks, outside measured time.
//
//   build/bin/recorder_cost [--benchmark_filter=record]

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "profiler/collect/recorder.hpp"

namespace underlap {
namespace {

constexpr std::int64_t kSlots = 4096;  ///< more than a step of the tiny model takes on one stream

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Tag tag_of(Kind kind) {
  return {.kind = kind, .mode = Mode::dp, .purpose = intern("param_all_gather"), .layer = 3, .bucket = 1, .step = 7};
}

// As an enqueued command holds it: what the operation must do is known, what came of it is not.
CommunicationRecord enqueued_record() {
  return {.group = 0, .sequence = 1, .transfers = {{.collective = Collective::all_gather, .bytes = 1 << 20}}};
}

/// Calls `operation(stream, i)` kSlots times an iteration and drains outside the measured time.
template <class Prepare, class Operation>
void measure(benchmark::State& state, Prepare prepare, Operation operation) {
  Recorder recorder(0);
  StreamRecorder& stream = recorder.add_stream(0, "stream");
  recorder.reserve(kSlots);
  auto prepared = prepare();
  for (auto _ : state) {
    state.PauseTiming();
    if (recorder.drain().num_dropped > 0) state.SkipWithError("no free slot for a slice");
    prepared = prepare();
    state.ResumeTiming();
    for (std::int64_t i = 0; i < kSlots; ++i) operation(stream, prepared, i);
    benchmark::ClobberMemory();
  }
  const auto operations = static_cast<double>(state.iterations() * kSlots);
  state.counters["added per operation"] =
      benchmark::Counter(operations, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Without a recorder a stream reads no clock for a compute slice.
void record_compute(benchmark::State& state) {
  const NameId name = intern("gemm_fprop");
  const Tag tag = tag_of(Kind::compute);
  measure(
      state, [] { return 0; },
      [&](StreamRecorder& stream, int, std::int64_t i) {
        const std::int64_t start = now_ns();
        stream.record({start, now_ns(), name, static_cast<std::uint32_t>(i), tag});
      });
}
BENCHMARK(record_compute);

/// The clocks that count CPU time are read with and without a recorder, and so are not part of this.
void record_communication(benchmark::State& state) {
  const Tag tag = tag_of(Kind::communication);
  measure(
      state, [] { return std::vector<CommunicationRecord>(kSlots, enqueued_record()); },
      [&](StreamRecorder& stream, std::vector<CommunicationRecord>& records, std::int64_t i) {
        const std::int64_t start = now_ns();
        CommunicationRecord& record = records[static_cast<std::size_t>(i)];
        record.last_arrival_ns = start;
        record.cpu_ns = i;
        record.transfers[0].bytes_on_wire = 1 << 19;
        stream.record({start, now_ns(), intern(to_string(Collective::all_gather)), static_cast<std::uint32_t>(i), tag},
                      std::move(record));
      });
}
BENCHMARK(record_communication);

void read_the_clock_twice(benchmark::State& state) {
  measure(
      state, [] { return 0; },
      [](StreamRecorder&, int, std::int64_t) {
        benchmark::DoNotOptimize(now_ns());
        benchmark::DoNotOptimize(now_ns());
      });
}
BENCHMARK(read_the_clock_twice);

/// Per slice, what draining costs between blocks.
void drain(benchmark::State& state) {
  Recorder recorder(0);
  StreamRecorder& stream = recorder.add_stream(0, "stream");
  recorder.reserve(kSlots);
  for (auto _ : state) {
    state.PauseTiming();
    for (std::int64_t i = 0; i < kSlots; ++i) stream.record({i, i + 1, kNoName, 0, tag_of(Kind::compute)});
    state.ResumeTiming();
    benchmark::DoNotOptimize(recorder.drain());
  }
  const auto slices = static_cast<double>(state.iterations() * kSlots);
  state.counters["per slice"] = benchmark::Counter(slices, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(drain);

}  // namespace
}  // namespace underlap
