// SPDX-License-Identifier: Apache-2.0
// Device time measured with events, on buffers that rotate over more memory than the L2 cache holds.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "impl/device/cuda/requirements.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "platform/errors.hpp"
#include "platform/numbers/median.hpp"
#include "research/calibrate/opened_libraries.hpp"
#include "research/calibrate/rates/benchmarks.hpp"
#include "research/calibrate/rates/cublaslt_alone.hpp"
#include "research/calibrate/rates/operation_works.hpp"
#include "research/calibrate/rates/roofline.hpp"

namespace underlap::bench {
namespace {

constexpr int kSamples = 30, kTrialSamples = 2;
constexpr std::int32_t kMembers = 8;
// The rate of H100 and H200 nodes, with the number of blocks that NCCL uses there.
constexpr Communication kLink{.sms = 16, .gb_per_s = 450};

/// The current device with its libraries and the rates that it reaches.
class Machine {
 public:
  explicit Machine(const CudaBenchmarks& wanted) : wanted_(wanted), gpu_(options()) {
    gpu_.warm_up(wanted_.warm_up_s);
    roofline_ = measure_roofline();
  }

  CudaGpu& gpu() { return gpu_; }
  const Roofline& roofline() const { return roofline_; }

 private:
  CudaGpuOptions options() const {
    CudaGpuOptions options{.libraries = libraries_.borrowed()};
    if (wanted_.is_trial) {
      options.rotated_bytes = 1 << 16;
      options.warm_up_side = 64;
    } else {
      options.together_us = 300;
    }
    return options;
  }

  Roofline measure_roofline() {
    const std::int64_t copied = std::int64_t{1} << (wanted_.is_trial ? 18 : 30), side = wanted_.is_trial ? 64 : 8192;
    Roofline roofline{.copy_bytes = 2.0 * static_cast<double>(copied) / (median(gpu_.copy_us(copied, 15)) * 1e-6)};
    if (libraries_.borrowed().products != nullptr) {
      const Work gemm = gemm_work(side, side, side);
      roofline.gemm_flops = gemm.operation.cost().flops / (median(gpu_.work_us(gemm, 15)) * 1e-6);
    }
    return roofline;
  }

  CudaBenchmarks wanted_;
  OpenedLibraries libraries_;
  CudaGpu gpu_;
  Roofline roofline_;
};

/// Shared by the benchmarks; the machine is created when the first one runs.
struct Shared {
  explicit Shared(const CudaBenchmarks& benchmarks) : wanted(benchmarks) {}
  CudaBenchmarks wanted;
  std::optional<Machine> machine;
};
using Owner = std::shared_ptr<Shared>;

/// Passes `measure`'s microseconds to Google Benchmark, one per iteration. Returns whether there were any.
bool play(benchmark::State& state, const std::function<std::vector<double>(int)>& measure) {
  std::vector<double> us;
  try {
    us = measure(static_cast<int>(state.max_iterations));
  } catch (const std::exception& error) {  // a missing library, or lack of memory: the other benchmarks still run
    state.SkipWithError(error.what());
    return false;
  }
  std::size_t next = 0;
  for (auto _ : state) state.SetIterationTime(us[next++] * 1e-6);
  return true;
}

Machine& started(const Owner& owner) {
  if (!owner->machine) owner->machine.emplace(owner->wanted);
  return *owner->machine;
}

void add(const Owner& owner, const std::string& name, const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Unit(benchmark::kMicrosecond)
      ->UseManualTime()
      ->Iterations(owner->wanted.is_trial ? kTrialSamples : kSamples);
}

void add_operation(const Owner& owner, const Work& work) {
  const std::string name(name_of(work.operation.name()));
  const char* const library = is_attention(work.operation) ? "_cudnn" : "";
  add(owner, fmt::format("cuda/{}{}/{}", name, library, work.shape), [=](benchmark::State& state) {
    if (play(state, [&](int samples) { return started(owner).gpu().work_us(work, samples); }))
      report(state, work.operation.cost(), started(owner).roofline());
  });
}

void add_alone(const Owner& owner, const Work& work) {
  const NameId operation = work.operation.name();
  add(owner, fmt::format("cuda/cublaslt_alone_{}/{}", name_of(operation), work.shape), [=](benchmark::State& state) {
    std::unique_ptr<CublasLtAlone> alone;
    const auto cublaslt_alone = [&](const Arguments& views, cuda::LaunchContext& context) {
      const kernels::GemmCall call = product_of(operation, views);
      if (!alone)
        alone = std::make_unique<CublasLtAlone>(cuda::CublasLtApi::load(), call, context.products->workspace_bytes());
      alone->enqueue(call, context);
    };
    if (play(state, [&](int samples) { return started(owner).gpu().implementation_us(work, cublaslt_alone, samples); }))
      report(state, work.operation.cost(), started(owner).roofline());
  });
}

void add_collective(const Owner& owner, Collective collective, std::int64_t bytes) {
  add(owner, fmt::format("cuda/{}_emulated/{}", to_string(collective), bytes), [=](benchmark::State& state) {
    if (play(state, [&](int samples) { return started(owner).gpu().collective_us(collective, kLink, bytes, samples); }))
      report(state, transfer_of(collective, bytes, kMembers), kMembers);
  });
}

}  // namespace

std::string add_cuda_benchmarks(const CudaBenchmarks& wanted) {
  try {
    cuda::check_cuda_machine(1);
  } catch (const MachineError& error) {
    return error.what();
  }
  const auto owner = std::make_shared<Shared>(wanted);
  for (const Work& work : operation_works(wanted.is_trial ? kTiny : kLlama3_8b)) {
    add_operation(owner, work);
    if (name_of(work.operation.name()).starts_with("gemm")) add_alone(owner, work);
  }
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
    for (std::int64_t bytes = 1 << 10; bytes <= (wanted.is_trial ? 16 << 10 : 256 << 20); bytes *= 4)
      add_collective(owner, collective, bytes);
  return {};
}

}  // namespace underlap::bench
