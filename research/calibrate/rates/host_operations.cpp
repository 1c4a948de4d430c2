// SPDX-License-Identifier: Apache-2.0
// The CPU implementations on one thread. Small operations stay in cache from one iteration to the next, which a share
// above 1 shows.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>

#include "research/calibrate/rates/benchmarks.hpp"
#include "research/calibrate/rates/operation_works.hpp"
#include "research/calibrate/rates/roofline.hpp"

namespace underlap::bench {
namespace {

/// An operation with its memory.
class HostWork {
 public:
  explicit HostWork(const Work& work) : work_(work), views_(bind(work_.operation)) {
    for (const Operation& first : work_.prepare) first.cpu()(Arguments(bind(first), first.parameters()));
  }

  void run() const { work_.operation.cpu()(Arguments(views_, work_.operation.parameters())); }

 private:
  std::vector<BoundView> bind(const Operation& operation) {
    std::vector<BoundView> views;
    for (const Use& use : operation.uses()) {
      const View& v = use.view;
      views.push_back({.data = memory_of(v.tensor) + v.offset * size_of(v.tensor.dtype),
                       .dtype = v.tensor.dtype,
                       .rows = v.rows,
                       .cols = v.cols,
                       .leading_dimension = v.leading_dimension});
    }
    return views;
  }

  std::byte* memory_of(const Tensor& tensor) {
    std::vector<std::byte>& memory = memory_[tensor.id];
    if (memory.empty()) {
      memory.resize(static_cast<std::size_t>(tensor.elements * size_of(tensor.dtype)));
      fill(tensor, memory.data());
    }
    return memory.data();
  }

  void fill(const Tensor& tensor, std::byte* data) const {
    if (tensor.dtype == DataType::i32) {
      std::mt19937 random(1);
      auto* const tokens = reinterpret_cast<std::int32_t*>(data);
      std::generate_n(tokens, tensor.elements, [&] {
        return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(work_.num_tokens));
      });
      return;
    }
    const Operation values = filling(tensor);
    const BoundView view{data, tensor.dtype, 1, tensor.elements, tensor.elements};
    values.cpu()(Arguments({&view, 1}, values.parameters()));
  }

  Work work_;
  std::map<std::uint32_t, std::vector<std::byte>> memory_;
  std::vector<BoundView> views_;
};

/// The best of five runs, after one that is not counted.
template <class Function>
double best_seconds(const Function& function) {
  double best = 0;
  for (int i = -1; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    function();
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i == 0 || took < best) best = took;
  }
  return best;
}

Roofline measure_roofline() {
  constexpr std::size_t kCopied = std::size_t{128} << 20;  // larger than the last-level cache of most machines
  constexpr std::int64_t kSide = 1024;
  const std::vector<char> from(kCopied, 1);
  std::vector<char> to(kCopied, 2);
  const double copying = best_seconds([&] {
    std::memcpy(to.data(), from.data(), kCopied);
    benchmark::ClobberMemory();
  });
  const HostWork gemm(gemm_work(kSide, kSide, kSide));
  const double multiplying = best_seconds([&] { gemm.run(); });
  return {.copy_bytes = 2.0 * kCopied / copying, .gemm_flops = 2.0 * kSide * kSide * kSide / multiplying};
}

/// Measured on the first call.
const Roofline& host_roofline() {
  static const Roofline roofline = measure_roofline();
  return roofline;
}

void run(benchmark::State& state, const Work& work) {
  const Roofline& roofline = host_roofline();
  const HostWork bound(work);
  bound.run();
  for (auto _ : state) {
    bound.run();
    benchmark::ClobberMemory();
  }
  report(state, work.operation.cost(), roofline);
}

}  // namespace

void add_host_operations(const HostBenchmarks& options) {
  omp_set_num_threads(1);
  const auto add = [&](const char* of, const Work& work) {
    const std::string name = fmt::format("{}/{}/{}", of, name_of(work.operation.name()), work.shape);
    auto* const added =
        benchmark::RegisterBenchmark(name.c_str(), [work](benchmark::State& state) { run(state, work); });
    added->Unit(benchmark::kMicrosecond)->UseRealTime();
    if (options.min_seconds > 0) added->MinTime(options.min_seconds);
  };
  for (const Work& work : operation_works(kQuarterLlama3_8b)) add("host", work);
  for (const LayerShape& shape : {kTiny, kEightTiny})
    for (const Work& work : operation_works(shape)) add("host_tiny", work);
}

}  // namespace underlap::bench
