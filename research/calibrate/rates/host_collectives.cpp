// SPDX-License-Identifier: Apache-2.0
// The host backend's collectives between two ranks that are threads of this process, over its TCP transport.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <future>

#include "impl/device/host/collectives.hpp"
#include "impl/device/host/fabric.hpp"
#include "research/calibrate/rates/benchmarks.hpp"
#include "research/calibrate/rates/roofline.hpp"

namespace underlap::bench {
namespace {

constexpr std::int32_t kRanks = 2;

/// One rank with the memory of its transfer.
class Member {
 public:
  Member(host::Fabric& fabric, std::int32_t rank, const Transfer& transfer)
      : transfer_(transfer),
        input_(static_cast<std::size_t>(transfer.input.bytes()), std::byte{0x3C}),  // bf16 0.0115
        output_(static_cast<std::size_t>(transfer.output.bytes())),
        connection_(fabric.connect(0, kPurpose, {.members = {0, 1}, .my_index = rank})) {}

  void run() {
    const BoundTransfer bound{transfer_, input_.data(), output_.data()};
    host::run_transfers(*connection_, intern(kPurpose), sequence_++, {&bound, 1}, scratch_);
  }

 private:
  static constexpr auto kPurpose = "rates";

  Transfer transfer_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  host::Scratch scratch_;
  std::shared_ptr<host::Connection> connection_;
  std::uint64_t sequence_ = 0;
};

/// The other rank does as often what this one does: its first, which is not timed, and one an iteration.
void run_other(host::Fabric& fabric, const Transfer& transfer, benchmark::IterationCount iterations) {
  Member member(fabric, 1, transfer);
  for (benchmark::IterationCount i = 0; i <= iterations; ++i) member.run();
}

void run(benchmark::State& state, Collective collective) {
  const Transfer transfer = transfer_of(collective, state.range(0), kRanks);
  host::Fabric fabric(kRanks, std::chrono::seconds(30));
  auto other = std::async(std::launch::async, run_other, std::ref(fabric), transfer, state.max_iterations);
  Member member(fabric, 0, transfer);
  member.run();
  for (auto _ : state) member.run();
  other.get();
  report(state, transfer, kRanks);
}

}  // namespace

void add_host_collectives(const HostBenchmarks& options) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
    auto* const added = benchmark::RegisterBenchmark(fmt::format("host/{}", to_string(collective)).c_str(),
                                                     [collective](benchmark::State& state) { run(state, collective); });
    added->RangeMultiplier(4)->Range(1 << 10, 16 << 20)->Unit(benchmark::kMicrosecond)->UseRealTime();
    if (options.min_seconds > 0) added->MinTime(options.min_seconds);
  }
}

}  // namespace underlap::bench
