// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/described_cells.hpp"

#include <fmt/format.h>

#include <cmath>

#include "impl/device/sim/machine.hpp"
#include "impl/plan/cell_references.hpp"
#include "impl/plan/findings.hpp"
#include "impl/plan/memory/advice.hpp"
#include "impl/plan/memory/memory.hpp"
#include "impl/plan/step_flops.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;

// Virtual time plays what no GPU could hold.
void hold_to_modelled_gpu(const plan::Cell& cell, CellResult& result) {
  result.device_memory_bytes = sim::gpu_memory_bytes(cell.plan.config);
  if (result.peak_memory_bytes > result.device_memory_bytes)
    result.memory_advice = plan::advice_on_memory(cell.plan.config, result.device_memory_bytes);
}

CellResult described(const plan::Cell& cell) {
  const plan::RunConfig& run = cell.plan.config.run;
  CellResult result;
  result.name = cell.name;
  result.values = cell.values;
  result.plan_json = plan::to_json(cell.plan);
  result.no_comm = run.no_comm;
  result.paced = run.link_gbps > 0 || run.link_latency_us > 0;
  result.num_ranks = cell.plan.config.parallel.world_size();
  result.peak_memory_bytes = cell.plan.peak_memory.total();
  result.work = work_of(cell.plan.config);
  result.not_as_requested = plan::unmet_requests(cell.plan);
  if (!run.traits().measures_time) hold_to_modelled_gpu(cell, result);
  return result;
}

}  // namespace

report::StepWork work_of(const plan::Config& config, const std::string& gpu_model) {
  report::StepWork work{
      .tokens = std::llround(plan::step_tokens(config)), .flops = {}, .peak_tflops = 0, .peak_of = {}};
  for (const plan::FlopConvention convention : plan::kFlopConventions)
    work.flops[std::string(to_string(convention))] = plan::step_flops(config, convention);
  std::optional<sim::Peak> peak;
  if (config.run.backend == Backend::sim) peak = sim::peak_of(config);
  if (!gpu_model.empty()) peak = sim::peak_of(config, gpu_model);
  work.peak_tflops = peak ? peak->tflops : 0;
  work.peak_of = peak                ? peak->of
                 : gpu_model.empty() ? fmt::format("peak FLOP/s of backend {} is unknown", config.run.traits().name)
                                     : fmt::format("peak FLOP/s of {} is unknown", gpu_model);
  return work;
}

void set_references(std::span<const plan::Cell> cells, std::vector<CellResult>& results) {
  const auto name_of = [&](const std::optional<std::size_t>& cell) { return cell ? cells[*cell].name : std::string(); };
  const std::vector<plan::CellReferences> references = plan::cell_references(cells);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].references = report::PlannedReferences{.off = name_of(references[i].off),
                                                      .no_comm = name_of(references[i].no_comm),
                                                      .overlaps = references[i].overlaps};
}

void describe_anew(std::span<const plan::Cell> cells, const std::string& gpu_model, std::vector<CellResult>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].work = work_of(cells[i].plan.config, gpu_model);
    results[i].not_as_requested = plan::unmet_requests(cells[i].plan);
  }
  set_references(cells, results);
}

std::vector<CellResult> described_cells(std::span<const plan::Cell> cells) {
  std::vector<CellResult> results;
  for (const plan::Cell& cell : cells) results.push_back(described(cell));
  set_references(cells, results);
  return results;
}

}  // namespace underlap::bench
