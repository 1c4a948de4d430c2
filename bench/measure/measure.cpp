// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "bench/machine/cpu_load.hpp"
#include "bench/measure/bound.hpp"
#include "bench/measure/run_folder.hpp"
#include "bench/ranks/session.hpp"
#include "bench/verify/numerics_labels.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/memory.hpp"
#include "platform/errors.hpp"
#include "profiler/analysis/compute_change.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/perfetto_writer.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/samples.hpp"
#include "profiler/report/stalls.hpp"
#include "profiler/report/summary.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;
using report::RunResults;

std::vector<std::size_t> shuffled_cells(std::size_t count, std::uint64_t seed, std::int32_t block) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(block));
  // Not std::shuffle: its use of the generator differs between standard libraries.
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

std::string trace_file_name(std::size_t index, const std::string& cell) {
  std::string name = fmt::format("{:02}-{}", index, cell);
  constexpr std::string_view kNotInFileNames = "/\\:*?\"<>|";
  for (char& c : name)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0 || kNotInFileNames.find(c) != std::string_view::npos) c = '_';
  return "traces/" + name + ".pftrace";
}

// Virtual time plays what no GPU could hold.
void hold_to_modelled_gpu(const plan::Cell& cell, CellResult& result) {
  result.device_memory_bytes = sim::gpu_memory_bytes(cell.plan.config);
  if (result.peak_memory_bytes > result.device_memory_bytes)
    result.memory_advice = plan::advice_on_memory(cell.plan.config, result.device_memory_bytes);
}

class Measurement {
 public:
  Measurement(const plan::Matrix& matrix, const MeasureOptions& options)
      : matrix_(matrix), options_(options), run_(matrix.cells.front().plan.config.run) {
    results_ = options.resume ? resumed() : fresh();
    compute_.resize(matrix.cells.size());
  }

  MeasureOutcome run() {
    if (results_.blocks_done < results_.blocks_planned) run_blocks();
    MeasureOutcome outcome;
    outcome.mismatches = finish();
    outcome.results = std::move(results_);
    return outcome;
  }

 private:
  RunResults fresh() {
    RunResults results;
    results.info = options_.info;
    results.info.backend = run_.backend;
    BackendInfo backend = backend_info(run_.backend);
    results.info.library_versions.merge(backend.library_versions);
    results.info.clock = backend.clock;
    results.info.seed = run_.seed;
    results.info.config_hash = matrix_hash(matrix_);
    results.blocks_planned = static_cast<std::int32_t>(run_.blocks);
    std::set<std::string> links;
    for (std::size_t i = 0; i < matrix_.cells.size(); ++i) {
      const plan::Cell& cell = matrix_.cells[i];
      CellResult& result = results.cells.emplace_back();
      result.name = cell.name;
      result.values = cell.values;
      result.plan_json = plan::to_json(cell.plan);
      result.no_comm = cell.plan.config.run.no_comm;
      result.num_ranks = cell.plan.config.parallel.world_size();
      result.peak_memory_bytes = cell.plan.peak_memory.total();
      if (!run_.traits().measures_time) hold_to_modelled_gpu(cell, result);
      result.paced = cell.plan.config.run.link_gbps > 0 || cell.plan.config.run.link_latency_us > 0;
      if (cell.plan.config.run.trace) result.trace_file = trace_file_name(i, cell.name);
      links.insert(link_text(cell.plan.config.run));
    }
    results.info.link = fmt::format("{}", fmt::join(links, "; "));
    prepare_run_folder(options_.folder);
    return results;
  }

  RunResults resumed() const {
    if (!std::filesystem::exists(options_.folder / "results.json"))
      throw std::invalid_argument(
          fmt::format("{} holds no finished block to go on after (no results.json); leave "
                      "--resume out to start there",
                      options_.folder.string()));
    RunResults results = report::read_results(options_.folder);
    if (results.info.config_hash != matrix_hash(matrix_))
      throw std::invalid_argument(
          fmt::format("{} was measured with another configuration; without --resume, into another "
                      "folder, this one can be measured",
                      options_.folder.string()));
    if (run_.blocks < results.blocks_done)
      throw std::invalid_argument(
          fmt::format("run.blocks is {}, but {} holds {} finished blocks; ask for at least those", run_.blocks,
                      options_.folder.string(), results.blocks_done));
    check_same_machine(results.info);
    results.blocks_planned = static_cast<std::int32_t>(run_.blocks);
    return results;
  }

  // Blocks of two builds or machines are no pairs.
  void check_same_machine(const report::RunInfo& before) const {
    const auto check = [this](const char* what, const std::string& then, const std::string& now) {
      if (then != now)
        throw std::invalid_argument(
            fmt::format("{} was measured with another {} ({}; now {}): its blocks and new ones "
                        "cannot be compared. Measure into another folder",
                        options_.folder.string(), what, then, now));
    };
    check("machine", before.host_name_hash, options_.info.host_name_hash);
    check("processor", before.cpu_model, options_.info.cpu_model);
    check("commit", before.commit, options_.info.commit);
    check("compiler", before.compiler, options_.info.compiler);
  }

  std::int32_t first_step() const {
    std::int32_t next = 0;
    for (const CellResult& cell : results_.cells)
      for (const report::StepSample& sample : cell.samples) next = std::max(next, sample.step + 1);
    return next;
  }

  // A run that cannot begin, for want of memory or for a file that is missing or wrong, leaves no folder behind.
  std::unique_ptr<Session> built_session() {
    try {
      return make_session(matrix_.cells, first_step(), matrix_.source);
    } catch (...) {
      if (!options_.resume) forget_empty_run_folder(options_.folder);
      throw;
    }
  }

  void run_blocks() {
    if (results_.blocks_done > 0) results_.resumed_at_blocks.push_back(results_.blocks_done);
    Progress progress(results_.blocks_done, results_.blocks_planned, options_.progress);
    const std::unique_ptr<Session> session = built_session();
    open_traces();
    warm_up(*session);
    for (std::int32_t block = results_.blocks_done; block < results_.blocks_planned; ++block) {
      begin_block(*session, block);
      std::int32_t position = 0;
      for (const std::size_t cell : shuffled_cells(matrix_.cells.size(), run_.seed, block)) {
        progress.start_cell(matrix_.cells[cell].name, position++, static_cast<std::int32_t>(matrix_.cells.size()));
        run_cell(*session, cell, block);
      }
      ++results_.blocks_done;
      write_results(options_.folder, results_, report::Statistics::left_out);
      progress.finish_block();
    }
  }

  void begin_block(Session& session, std::int32_t block) {
    if (!session.begin_block(block)) return;
    results_.resumed_at_blocks.push_back(block);
    warm_up(session);
  }

  // What a killed run wrote after its last finished block is cut off: those cells are measured again. What it finished
  // is read again for its kernels.
  void open_traces() {
    for (std::size_t i = 0; i < results_.cells.size(); ++i) {
      const CellResult& cell = results_.cells[i];
      if (cell.trace_file.empty()) {
        writers_.emplace_back();
        continue;
      }
      const auto where =
          cell.trace_bytes > 0 ? formats::WriteAt::append_at(cell.trace_bytes) : formats::WriteAt::create();
      writers_.push_back(std::make_unique<formats::PerfettoWriter>(options_.folder / cell.trace_file, where));
      if (cell.trace_bytes > 0) add_compute(i, formats::read_trace(options_.folder / cell.trace_file));
    }
  }

  void warm_up(Session& session) {
    for (std::size_t cell = 0; cell < matrix_.cells.size(); ++cell) {
      results_.cells[cell].warmup_losses.clear();  // of earlier ranks: weights begin anew
      const report::BlockRun run = session.run(cell, -1, run_.warmup);
      for (std::size_t i = 0; !run.losses.empty() && i < run.losses.front().size(); ++i)
        results_.cells[cell].warmup_losses.push_back(mean_loss(run, i).value());
      session.reserve(cell, run_.steps + 1);
    }
  }

  void run_cell(Session& session, std::size_t index, std::int32_t block) {
    CellResult& cell = results_.cells[index];
    const CpuTimes before = cpu_times();
    report::BlockRun run = session.run(index, block, run_.steps + 1);
    if (run_.traits().measures_time) add_load(load_of(block), before, cpu_times());
    cell.num_ranks_played = num_ranks_of(run);
    for (report::StepSample& sample : samples_of(run, block, !cell.trace_file.empty()))
      cell.samples.push_back(std::move(sample));
    for (const std::string& note : run.notes) cell.notes.push_back(fmt::format("block {}, {}", block, note));
    for (const std::string& why : run.invalid_because)
      cell.invalid_because.push_back(fmt::format("block {}, {}", block, why));
    if (!writers_[index]) return;
    run.trace.metadata = {{"cell", cell.name},
                          {"backend", std::string(to_string(results_.info.backend))},
                          {"link", link_text(matrix_.cells[index].plan.config.run)},
                          {"clock", results_.info.clock}};
    add_compute(index, run.trace);
    writers_[index]->append(run.trace);
    cell.trace_bytes = writers_[index]->bytes();
  }

  report::BlockLoad& load_of(std::int32_t block) {
    std::vector<report::BlockLoad>& load = results_.load;
    if (load.empty() || load.back().block != block) load.push_back({.block = block});
    return load.back();
  }

  void add_compute(std::size_t cell, const Trace& trace) {
    compute_[cell].add(trace, analysis::find_windows(trace).windows);
  }

  // Of a run that was resumed when nothing was left to do, the results hold all this already.
  void attribute_compute() {
    for (std::size_t i = 0; i < results_.cells.size(); ++i) {
      if (compute_[i].windows() == 0) continue;
      CellResult& cell = results_.cells[i];
      const analysis::ComputeTimes own = compute_without(i, stalled_steps(cell));
      cell.kernel_ns = own.kernels_ns_by_purpose();
      cell.kernel_windows = own.windows();
      const std::optional<std::size_t> off = find_references(results_.cells, i).off;
      if (!off || *off == i || cell.no_comm) continue;
      const report::Steps stalled = stalled_steps(results_.cells[*off], cell);
      const analysis::ComputeTimes from = compute_without(*off, stalled);
      const analysis::ComputeTimes to = compute_without(i, stalled);
      if (from.windows() != to.windows()) continue;
      cell.compute_since_off =
          report::ComputeSinceOff{results_.cells[*off].name, to.windows(), analysis::compute_change(from, to)};
    }
  }

  // Which steps stood still is known at the end alone, so their cell's trace is read again.
  analysis::ComputeTimes compute_without(std::size_t cell, const report::Steps& steps) const {
    if (steps.empty() || results_.cells[cell].trace_file.empty()) return compute_[cell];
    const Trace trace = formats::read_trace(options_.folder / results_.cells[cell].trace_file);
    std::vector<analysis::Window> windows = analysis::find_windows(trace).windows;
    std::erase_if(windows, [&](const analysis::Window& window) { return steps.contains({window.block, window.step}); });
    analysis::ComputeTimes times;
    times.add(trace, windows);
    return times;
  }

  std::vector<std::string> finish() {
    std::vector<std::string> mismatches;
    if (options_.verify) mismatches = label_numerics(matrix_.cells, results_.cells);
    for (const CellResult& cell : results_.cells)
      if (!cell.invalid_because.empty())
        mismatches.push_back(fmt::format("cell {} is not valid: {}", cell.name, cell.invalid_because.front()));
    lay_bounds();
    attribute_compute();
    write_results(options_.folder, results_);
    write_report(options_.folder, results_);
    return mismatches;
  }

  // The trace of a cell as its file holds it, or null without recorder. Read once.
  const Trace* trace_of(std::optional<std::size_t> cell) {
    if (!cell || results_.cells[*cell].trace_file.empty()) return nullptr;
    const auto [entry, is_new] = traces_.try_emplace(*cell);
    if (is_new) entry->second = formats::read_trace(options_.folder / results_.cells[*cell].trace_file);
    return &entry->second;
  }

  void lay_bounds() {
    for (std::size_t i = 0; i < results_.cells.size(); ++i) {
      const StepBound bound = find_bound(i);
      CellResult& cell = results_.cells[i];
      if (bound.ns) cell.bound_ns = bound.ns->schedule_ns, cell.bound_ideal_ns = bound.ns->ideal_ns;
      cell.bound_kernel_ns = bound.kernel_ns;
      cell.bound_source = bound.source;
    }
  }

  StepBound find_bound(std::size_t i) {
    const plan::Config& config = matrix_.cells[i].plan.config;
    if (!config.run.traits().measures_time) return step_bound(config, *sim::make_time_model(config));
    const report::References references = find_references(results_.cells, i);
    const Trace* no_comm = trace_of(references.no_comm);
    if (no_comm == nullptr) return {std::nullopt, "no traced cell without transfers to take durations from"};
    const ComputeDurations alone(*no_comm, config.parallel.stage_size());
    return step_bound(config,
                      {.no_comm = alone, .own = [&] { return own_durations(i); }, .off = trace_of(references.off)});
  }

  // Its trace is read for this alone, and not kept: every cell may ask.
  ComputeDurations own_durations(std::size_t cell) const {
    const std::string& file = results_.cells[cell].trace_file;
    return ComputeDurations(file.empty() ? Trace{} : formats::read_trace(options_.folder / file),
                            matrix_.cells[cell].plan.config.parallel.stage_size());
  }

  const plan::Matrix& matrix_;
  const MeasureOptions& options_;
  plan::RunConfig run_;
  RunResults results_;
  std::vector<analysis::ComputeTimes> compute_;                    // by cell, of all finished blocks
  std::map<std::size_t, Trace> traces_;                            // of the cells that bounds are taken from
  std::vector<std::unique_ptr<formats::PerfettoWriter>> writers_;  // by cell; null without recorder
};

}  // namespace

MeasureOutcome measure(const plan::Matrix& matrix, const MeasureOptions& options) {
  return Measurement(matrix, options).run();
}

}  // namespace underlap::bench
