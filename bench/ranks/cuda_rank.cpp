// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/cuda_rank.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impl/plan/memory/advice.hpp"
#include "impl/plan/memory/memory.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/step/planned_trainer.hpp"
#include "impl/step/record_programs.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "platform/errors.hpp"
#include "platform/numbers/median.hpp"
#include "profiler/analysis/windows.hpp"

namespace underlap::bench {
namespace {

// Operation ids are unique in a process, whose cells take turns: each cell counts in its own range.
constexpr int kOperationBitsOfACell = 40;

std::vector<std::int64_t> window_lengths(const std::vector<Mark>& marks) {
  Trace trace;
  trace.marks = marks;
  std::vector<std::int64_t> lengths;
  for (const analysis::Window& window : analysis::find_windows(trace).windows) lengths.push_back(window.length_ns());
  return lengths;
}

// Rethrows an out-of-memory error of the GPU with advice on what fits.
void advised(const plan::Config& config, const std::function<void()>& work) {
  try {
    work();
  } catch (const OutOfDeviceMemory& error) {
    const plan::PeakMemory peak = plan::predicted_memory(config);
    const std::int64_t of_libraries = peak.total() - peak.of_tensors();  // already allocated
    throw MachineError(
        fmt::format("{} ({})", error.what(), plan::advice_on_memory(config, error.rank_bytes() + of_libraries)));
  }
}

}  // namespace

bool copies_between_peers(const plan::Config& config) {
  return plan::ranks_sharing(plan::Shared::weights, config.parallel) > 1 &&
         config.extensions.tp_ring_transport == "copy_engine" && !config.run.emulated_link;
}

bool attaches_cupti(const RankContext& context) {
  return any_own_cell(context, [](const plan::Config& config) { return config.run.trace; });
}

struct CudaRank::BuiltCell {
  const plan::Cell* cell = nullptr;
  std::unique_ptr<cuda::EmulatedLink> link;  // null: the transport's
  std::optional<cuda::Capture> capture;
  std::unique_ptr<cuda::CudaDevice> device;
  std::optional<PlannedTrainer> trainer;
  bool has_noted = false;

  // of the last run
  RankRun result;
  std::int32_t block = 0;
  std::vector<Mark> timed_marks;
};

CudaRank::CudaRank(const RankContext& context, const CudaParts& parts) : context_(context), parts_(parts) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, parts.device));
  gpu_ = properties.name;
}

CudaRank::~CudaRank() = default;

// Reports the first failure of any rank: if another rank failed first, this rank saw only the consequence. Ranks in
// separate processes do not learn of other ranks' failures: the run uses the first one that is reported.
void CudaRank::guarded(std::size_t cell, const std::function<void()>& work) {
  try {
    advised(context_.cells[cell].plan.config, work);
  } catch (const MachineError& error) {
    parts_.control->fail(context_.rank, error.what());
    const std::optional<std::string> first = parts_.control->failure();
    if (first && !first->starts_with(fmt::format("rank {}:", context_.rank))) throw PeerError(*first);
    throw;
  }
}

void CudaRank::build(std::size_t cell) {
  const plan::Config& config = context_.cells[cell].plan.config;
  const model::TextData& text = texts_.of(config);
  BuiltCell& built = *(built_[cell] = std::make_unique<BuiltCell>());
  built.cell = &context_.cells[cell];
  guarded(cell, [&] {
    if (config.run.emulated_link)
      built.link = std::make_unique<cuda::EmulatedLink>(
          cuda::EmulatedLinkOptions{.link = *config.run.emulated_link, .shape = parts_.link_shape});
    built.capture.emplace(config.run.trace ? parts_.collector : nullptr, context_.rank);
    cuda::Transport& transport = built.link ? static_cast<cuda::Transport&>(*built.link) : *parts_.transport;
    built.device = std::make_unique<cuda::CudaDevice>(
        transport, cuda::CudaOptions{.rank = context_.rank,
                                     .device = parts_.device,
                                     .norm_sm_margin = static_cast<int>(config.environment.layernorm_sm_margin),
                                     .peers_map_tensors = copies_between_peers(config),
                                     .first_operation = (static_cast<std::uint64_t>(cell) << kOperationBitsOfACell) + 1,
                                     .products = parts_.products,
                                     .attention = parts_.attention,
                                     .is_deterministic = config.model.deterministic_mode,
                                     .tracer = &*built.capture,
                                     .run_implementation = parts_.run_implementation,
                                     .rehearsed = record_launches(config, text, context_.rank)});
    built.trainer.emplace(*built.device, config, context_.rank, text, context_.first_step);
    built.device->synchronize();
  });
}

void CudaRank::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  BuiltCell& built = *built_.at(cell);
  built.block = block;
  built.result = {};
  built.result.gpu = gpu_;
  built.result.first_step = built.trainer.value()->next_step();
  built.result.tensor_bytes = built.device->allocated_bytes();
  guarded(cell, [&] {
    if (built.link) (void)built.link->report();  // discard what was carried before this block
    const bool is_watched = parts_.monitor != nullptr && parts_.monitor->why_not().empty();
    report::GpuBlock gpu{.block = block, .rank = context_.rank};
    if (is_watched) parts_.monitor->begin(gpu);
    built.capture->start();
    for (std::int64_t i = 0; i < steps; ++i) built.trainer.value()->step(block);
    if (is_watched) {
      parts_.monitor->end(gpu);
      built.result.gpu_block = std::move(gpu);
    }
    // An emulated link carries no real gradients, so losses are meaningless.
    if (built.link) {
      built.device->synchronize();
    } else {
      built.result.losses = built.trainer->take_losses();
    }
    built.timed_marks = built.device->take_marks();
  });
}

void CudaRank::note(BuiltCell& built, const std::string& text) const {
  built.result.notes.push_back(fmt::format("rank {}: {}", context_.rank, text));
}

// Once per cell, in a block whose notes are kept.
void CudaRank::note_once(BuiltCell& built) const {
  if (built.block < 0 || std::exchange(built.has_noted, true)) return;
  if (built.cell->plan.config.run.trace && parts_.collector != nullptr)
    for (const std::string& text : parts_.collector->info().notes) note(built, text);
  if (parts_.monitor != nullptr && !parts_.monitor->why_not().empty()) note(built, parts_.monitor->why_not());
}

// A trace that lacks a mark has no windows. Events timed the same marks on the same clock.
void CudaRank::take_trace(BuiltCell& built) const {
  cuda::Capture::Taken taken = built.capture->take();
  for (const std::string& notice : taken.notices) note(built, notice);
  for (cuda::Capture::Fault& fault : taken.faults)
    built.result.capture_faults.push_back(
        {.rank = context_.rank, .cause = fault.cause, .count = fault.count, .example = std::move(fault.example)});
  built.result.trace = std::move(taken.assembled.trace);
  const std::vector<std::int64_t> traced = window_lengths(built.result.trace.marks);
  const std::vector<std::int64_t> timed = window_lengths(built.timed_marks);
  const auto is_positive = [](std::int64_t length) { return length > 0; };
  if (traced.size() == timed.size() && !traced.empty() && std::ranges::all_of(traced, is_positive) &&
      std::ranges::all_of(timed, is_positive)) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < traced.size(); ++i)
      ratios.push_back(static_cast<double>(traced[i]) / static_cast<double>(timed[i]));
    note(built, fmt::format("windows traced to event-timed: median ratio {:.4f}", median(std::move(ratios))));
  }
  if (built.result.trace.marks.size() != built.timed_marks.size()) {
    built.result.trace.marks = built.timed_marks;
    note(built, "the capture lacks step marks: windows are timed by events");
  }
}

void CudaRank::take_link(BuiltCell& built) const {
  const cuda::LinkReport report = built.link->report();
  note(built, "emulated " + cuda::to_text(report));
  if (!report.is_valid())
    built.result.invalid_because.push_back(fmt::format("rank {}: emulated {}", context_.rank, cuda::to_text(report)));
  for (const std::string& unmet : built.link->unmet())
    built.result.invalid_because.push_back(fmt::format("rank {}: {}", context_.rank, unmet));
  if (built.cell->plan.config.run.trace && parts_.collector != nullptr)
    if (const cuda::ClockCheck check = cuda::check_clocks(cuda::match_stamps(built.result.trace, built.link->stamps()));
        check.num_kernels > 0)
      note(built, cuda::to_text(check));
}

RankRun CudaRank::take(std::size_t cell) {
  BuiltCell& built = *built_.at(cell);
  const plan::Config& config = built.cell->plan.config;
  if (config.run.trace) {
    take_trace(built);
  } else {
    built.result.trace.marks = std::move(built.timed_marks);
    built.result.trace.clocks.push_back(clock_of(context_.rank));
  }
  note_once(built);
  if (built.link) take_link(built);
  for (const std::string& notice : built.link ? built.link->notices() : parts_.transport->notices())
    note(built, notice);
  const plan::ParallelConfig& parallel = config.parallel;
  if (parts_.products != nullptr && (plan::ranks_sharing(plan::Shared::weights, parallel) > 1 ||
                                     plan::ranks_sharing(plan::Shared::tokens, parallel) > 1))
    for (const std::string& notice : parts_.products->notices()) note(built, notice);
  require_complete(built);
  // After kernels are loaded and clocks are up, before the first measurement.
  if (built.link && built.block < 0) built.link->measure_alone();
  return std::exchange(built.result, {});
}

// A warm-up is not measured, so lost records do not matter.
void CudaRank::require_complete(const BuiltCell& built) const {
  if (built.block < 0 || !built.cell->plan.config.run.trace_strict || built.result.capture_faults.empty()) return;
  std::vector<std::string> examples;
  for (const report::CaptureFault& fault : built.result.capture_faults) examples.push_back(fault.example);
  throw MachineError(
      fmt::format("cell {}, rank {}: the capture of this block is incomplete, but run.trace is strict: {}",
                  built.cell->name, context_.rank, fmt::join(examples, "; ")));
}

}  // namespace underlap::bench
