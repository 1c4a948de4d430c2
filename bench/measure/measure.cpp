// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "bench/machine/cpu_load.hpp"
#include "bench/measure/cell_traces.hpp"
#include "bench/measure/conclusions.hpp"
#include "bench/measure/described_cells.hpp"
#include "bench/measure/early_end.hpp"
#include "bench/measure/kernel_files.hpp"
#include "bench/measure/progress.hpp"
#include "bench/measure/run_folder.hpp"
#include "bench/ranks/session.hpp"
#include "bench/verify/numerics_labels.hpp"
#include "impl/step/techniques.hpp"
#include "platform/signal_watch.hpp"
#include "profiler/compare/run_figures.hpp"
#include "profiler/report/cell_summary.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/run_folders.hpp"
#include "profiler/report/samples.hpp"

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

bool keeps_trace(const plan::RunConfig& run) {
  return run.trace && run.kept_traces.which != plan::KeptTraces::Which::none;
}

class Measurement {
 public:
  Measurement(const plan::Matrix& matrix, const MeasureOptions& options)
      : matrix_(matrix),
        options_(options),
        run_(matrix.cells.front().plan.config.run),
        early_end_(options),
        watch_([this](int signal) { early_end_.say_last_words(signal); },
               [this](int signal) { return early_end_.is_heeded(signal); }),
        status_(options.progress),
        times_(options.folder, kernel_file_names(matrix.cells)),
        traces_(options.folder, matrix.cells),
        parts_(session_parts(matrix.cells, options.placement)) {
    status_.say("reading input files of the cells");
    results_ = described();
    folder_.emplace(options.folder);
    if (!folder_->why_not_locked().empty())
      status_.print(fmt::format("{} cannot be locked ({}): do not start a second run in it", options.folder.string(),
                                folder_->why_not_locked()));
    if (report::find_results(options.folder)) take_up_what_is_there();
    if (parts_.size() > 1) say_parts();
    if (options.resume && results_.blocks_done == 0)
      status_.print(fmt::format("{} contains no finished block: starting from the first", options.folder.string()));
    early_end_.set(results_.blocks_done, results_.blocks_planned);
    early_end_.begin_status();
  }

  MeasureOutcome run() {
    try {
      run_blocks();
      MeasureOutcome outcome = finish();
      outcome.results = std::move(results_);
      early_end_.end_status("");
      return outcome;
    } catch (const StoppedBySignal& stopped) {
      early_end_.end_status("stopped by " + signal_name(stopped.signal));
      throw;
    } catch (const MachineError& error) {
      early_end_.end_status(error.what());
      if (!early_end_.is_something_kept()) throw;
      throw MachineError(fmt::format("{}\n{}", error.what(), early_end_.text()));
    }
  }

 private:
  RunResults described() {
    RunResults results;
    results.info = options_.info;
    results.info.backend = run_.backend;
    BackendInfo backend = backend_info(run_.backend);
    results.info.library_versions.merge(backend.library_versions);
    results.info.clock = backend.clock;
    results.info.seed = run_.seed;
    results.info.input_hashes = hash_inputs(matrix_);
    results.info.config_hash = matrix_hash(matrix_, results.info.input_hashes);
    describe_launch(results.info);
    results.blocks_planned = static_cast<std::int32_t>(run_.blocks);
    results.refused = options_.refused;
    results.cells = described_cells(matrix_.cells);
    std::set<std::string> links;
    for (std::size_t i = 0; i < matrix_.cells.size(); ++i) {
      const plan::Cell& cell = matrix_.cells[i];
      CellResult& result = results.cells[i];
      if (keeps_trace(cell.plan.config.run)) result.trace_file = trace_file_name(i, cell.name);
      links.insert(link_of(cell));
      if (options_.placement == nullptr || !run_.traits().measures_time) continue;
      if (std::string warning = tensor_parallel_warning(cell, *options_.placement); !warning.empty()) {
        status_.print("note: " + warning);
        result.notes.push_back(std::move(warning));
      }
    }
    results.info.link = fmt::format("{}", fmt::join(links, "; "));
    return results;
  }

  void describe_launch(report::RunInfo& info) const {
    if (options_.placement == nullptr) return;
    info.launcher = options_.placement->launcher;
    for (const RankPlace& place : options_.placement->ranks)
      info.launched_ranks.push_back(
          {place.node, place.local_rank, place.cpus, place.visible_devices, place.numa_nodes});
    const auto has_another_clock = [&](const RankPlace& place) {
      return place.clock != options_.placement->ranks.front().clock;
    };
    if (run_.traits().measures_time && std::ranges::any_of(options_.placement->ranks, has_another_clock))
      info.clock =
          "CLOCK_MONOTONIC of rank 0's machine; clocks of other machines are compared with it before and after each "
          "cell";
  }

  std::string link_of(const plan::Cell& cell) const {
    return link_text(cell.plan.config.run,
                     options_.placement == nullptr ? 1 : options_.placement->num_nodes(num_ranks(cell)));
  }

  void take_up_what_is_there() {
    if (!options_.resume)
      throw std::invalid_argument(
          fmt::format("{} already contains a run: continue it with --resume, or choose another folder with -o DIR",
                      options_.folder.string()));
    results_ = take_up(options_.folder, results_, run_.steps);
    describe_anew(matrix_.cells, results_.info.gpu_model, results_.cells);
    results_.refused = options_.refused;
    results_.info.flops = options_.info.flops;
    for (CellResult& cell : results_.cells) {
      if (cell.failed_because.empty()) continue;
      status_.print(fmt::format("retrying cell {}; it was {}", cell.name, cell.failed_because));
      cell.notes.push_back(fmt::format("from block {} on, measured later than the other cells, after it was {}",
                                       report::blocks_of(cell), cell.failed_because));
      std::erase(cell.invalid_because, cell.failed_because);
      cell.failed_because.clear();
    }
  }

  // The next step number, over all ranks and cells. Checks that the numbers of all remaining steps fit too.
  std::int32_t first_step() const {
    std::int64_t next = 0;
    for (const CellResult& cell : results_.cells)
      for (const report::StepSample& sample : cell.samples) next = std::max(next, std::int64_t{sample.step} + 1);
    const std::int64_t steps = (results_.blocks_planned - results_.blocks_done) * (run_.warmup + run_.steps + 1);
    if (next + steps > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument(fmt::format("step numbers would exceed 2^31: {} contains step {}, and {} more follow",
                                              options_.folder.string(), next - 1, steps));
    return static_cast<std::int32_t>(next);
  }

  void say_parts() {
    const std::string note = fmt::format(
        "the cells of this matrix do not fit in memory together: each block builds {} parts of it one after another, "
        "each with fresh weights",
        parts_.size());
    status_.print("note: " + note);
    for (CellResult& cell : results_.cells)
      if (std::ranges::find(cell.notes, note) == cell.notes.end()) cell.notes.push_back(note);
  }

  std::unique_ptr<Session> built_session(const CellPart& cells, std::int32_t first_step) {
    status_.say(fmt::format("building {} cells", cells.size()));
    return make_session(matrix_.cells, first_step,
                        {.source = matrix_.source,
                         .starter = options_.starter,
                         .placement = options_.placement,
                         .log_folder = options_.starter != nullptr ? options_.folder / "logs" : std::filesystem::path(),
                         .cells = cells});
  }

  // A block counts when all its cells are done: if one fails, the block starts again on fresh ranks.
  void run_blocks() {
    Progress progress(results_.blocks_done, results_.blocks_planned, status_);
    std::optional<std::int32_t> block = next_block(0);
    while (block) {
      try {
        open_files();
        std::unique_ptr<Session> session;
        for (; block; block = next_block(*block + 1)) {
          early_end_.end_if_heeded();
          run_block(session, *block, progress);
        }
      } catch (const CellFailure& failure) {
        take_failure(failure, *block);
        block = next_block(0);
      }
    }
  }

  // The first block from `from` on that is missing in a cell that was not left out. A cell that failed in an earlier
  // run may lack blocks that the others have.
  std::optional<std::int32_t> next_block(std::int32_t from) const {
    for (std::int32_t block = from; block < results_.blocks_planned; ++block)
      for (std::size_t cell = 0; cell < results_.cells.size(); ++cell)
        if (lacks(cell, block)) return block;
    return std::nullopt;
  }

  bool lacks(std::size_t cell, std::int32_t block) const {
    const std::vector<report::StepSample>& samples = results_.cells[cell].samples;
    return !left_out_.contains(cell) && (samples.empty() || samples.back().block < block);
  }

  void open_files() {
    finished_ = finished();
    for (std::size_t i = 0; i < results_.cells.size(); ++i)
      times_.open(i, report::blocks_of(results_.cells[i]), results_.cells[i].trace_bytes);
    traces_.open(results_.cells, times_);
  }

  // If all cells fit in memory together, one session serves every block. `session` is null before it is built.
  void run_block(std::unique_ptr<Session>& session, std::int32_t block, Progress& progress) {
    const std::int32_t first = session ? 0 : first_step();  // the same for all cells of a block
    const std::vector<std::size_t> order = shuffled_cells(matrix_.cells.size(), run_.seed, block);
    std::size_t position = 0;
    for (const CellPart& part : parts_) {
      CellPart cells;
      for (const std::size_t cell : order)
        if (std::ranges::find(part, cell) != part.end() && !left_out_.contains(cell)) cells.push_back(cell);
      if (cells.empty()) continue;
      get_ready(session, cells, first, block);
      for (const std::size_t cell : cells) {
        const std::string where = progress.start_cell(matrix_.cells[cell].name, position++, matrix_.cells.size());
        const auto left = progress.time_left();
        early_end_.say(where, left ? std::optional(std::chrono::duration_cast<std::chrono::seconds>(*left).count())
                                   : std::nullopt);
        if (lacks(cell, block)) run_cell(*session, cell, block);
      }
      if (parts_.size() > 1) session.reset();  // its memory is free for the next one
    }
    results_.blocks_done = std::max(results_.blocks_done, block + 1);
    write_results(options_.folder, results_, report::Statistics::left_out);
    early_end_.set(results_.blocks_done, results_.blocks_planned);  // next to the write: a signal may come now
    traces_.commit(results_.cells);
    finished_ = finished();
    failures_.clear();
    progress.finish_block();
  }

  // Sizes of growing data at the end of the last finished block.
  struct Finished {
    struct Cell {
      std::size_t samples = 0, notes = 0, invalid = 0, capture_faults = 0, gpu_blocks = 0;
      std::int64_t trace_bytes = 0;
    };
    std::vector<Cell> cells;
    std::size_t resumed_at = 0, load = 0;
  };

  Finished finished() const {
    Finished all{.cells = {}, .resumed_at = results_.resumed_at_blocks.size(), .load = results_.load.size()};
    for (const CellResult& cell : results_.cells)
      all.cells.push_back({cell.samples.size(), cell.notes.size(), cell.invalid_because.size(),
                           cell.capture_faults.size(), cell.gpu_blocks.size(), cell.trace_bytes});
    return all;
  }

  // Discards an unfinished block; traces are reopened with the next ranks.
  void roll_back() {
    results_.resumed_at_blocks.resize(finished_.resumed_at);
    results_.load.resize(finished_.load);
    for (std::size_t i = 0; i < results_.cells.size(); ++i) {
      CellResult& cell = results_.cells[i];
      const Finished::Cell& was = finished_.cells[i];
      cell.samples.erase(cell.samples.begin() + static_cast<std::ptrdiff_t>(was.samples), cell.samples.end());
      cell.notes.resize(was.notes);
      cell.invalid_because.resize(was.invalid);
      cell.capture_faults.resize(was.capture_faults);
      cell.gpu_blocks.resize(was.gpu_blocks);
      cell.trace_bytes = was.trace_bytes;
    }
    traces_.close();
  }

  // Retries a cell once. After that it is left out, and the others continue.
  void take_failure(const CellFailure& failure, std::int32_t block) {
    roll_back();
    CellResult& cell = results_.cells[failure.cell];
    const std::string where = fmt::format("cell {}, block {}", cell.name, block);
    if (++failures_[failure.cell] < kAttempts) {
      status_.print(fmt::format("{}: {}\n  retrying on fresh ranks", where, failure.what()));
      cell.notes.push_back(
          fmt::format("block {} was measured on fresh ranks after this error: {}", block, failure.what()));
      return;
    }
    status_.print(fmt::format("{}: failed again: {}\n  the cell is left out from here on", where, failure.what()));
    left_out_.insert(failure.cell);
    cell.failed_because =
        fmt::format("left out from block {} on, where it failed {} times: {}", block, kAttempts, failure.what());
    cell.invalid_because.push_back(cell.failed_because);
    if (left_out_.size() == results_.cells.size())
      throw MachineError(fmt::format("{}: {}; no cell is left", where, failure.what()));
  }

  // Cells of a new session, or of a session with new ranks, start with fresh weights.
  void get_ready(std::unique_ptr<Session>& session, const CellPart& cells, std::int32_t first_step,
                 std::int32_t block) {
    const bool has_session = session != nullptr;
    if (!has_session) {
      CellPart in_order = cells;
      std::ranges::sort(in_order);
      session = built_session(in_order, first_step);
    }
    if (!session->begin_block(block) && has_session) return;
    std::vector<std::int32_t>& resumed_at = results_.resumed_at_blocks;
    if (block > 0 && (resumed_at.empty() || resumed_at.back() != block)) resumed_at.push_back(block);
    warm_up(*session, cells);
  }

  std::string cell_text(std::size_t cell) const {
    return bench::cell_text(matrix_.cells[cell].name, cell, matrix_.cells.size());
  }

  // If this process was stopped, adds a note: step times include the pause, and a peer's deadline may have passed.
  report::BlockRun run_steps(Session& session, std::size_t cell, std::int32_t block, std::int64_t steps) {
    watch_.take_pause();
    const auto pause_text = [this]() -> std::string {
      const auto pause = watch_.take_pause();
      return pause
                 ? fmt::format("this process was stopped (SIGSTOP, or a debugger) for about {}", duration_text(*pause))
                 : "";
    };
    try {
      report::BlockRun run = session.run(cell, block, steps);
      if (std::string pause = pause_text(); !pause.empty()) run.notes.push_back(std::move(pause));
      return run;
    } catch (const MachineError& error) {
      const std::string pause = pause_text();
      if (pause.empty()) throw;
      const std::string both = fmt::format("{}; then: {}", pause, error.what());
      if (dynamic_cast<const CellFailure*>(&error) != nullptr) throw CellFailure(cell, both);
      throw MachineError(both);
    }
  }

  void warm_up(Session& session, CellPart cells) {
    std::ranges::sort(cells);
    for (const std::size_t cell : cells) {
      status_.say("warming up " + cell_text(cell));
      results_.cells[cell].warmup_losses.clear();  // of earlier ranks: these start with fresh weights
      const report::BlockRun run = run_steps(session, cell, -1, run_.warmup);
      for (std::size_t i = 0; !run.losses.empty() && i < run.losses.front().size(); ++i)
        results_.cells[cell].warmup_losses.push_back(mean_loss(run, i).value());
      session.reserve(cell, run_.steps + 1);
    }
  }

  // In addition to this process and its children.
  std::vector<std::int64_t> own_processes() const {
    return options_.placement == nullptr ? std::vector<std::int64_t>{}
                                         : options_.placement->processes_beside_rank_zero();
  }

  void run_cell(Session& session, std::size_t index, std::int32_t block) {
    CellResult& cell = results_.cells[index];
    const CpuTimes before = cpu_times(own_processes());
    report::BlockRun run = run_steps(session, index, block, run_.steps + 1);
    take_gpu_model(run);
    if (run_.traits().measures_time) add_load(load_of(block), before, cpu_times(own_processes()));
    cell.num_ranks_played = static_cast<std::int32_t>(ranks_of(run).size());
    cell.clock_residual_ns = std::max(cell.clock_residual_ns, run.clock_residual_ns);
    for (const std::string& note : run.notes) cell.notes.push_back(fmt::format("block {}, {}", block, note));
    for (const std::string& why : run.invalid_because)
      cell.invalid_because.push_back(fmt::format("block {}, {}", block, why));
    cell.tensor_bytes = std::max(cell.tensor_bytes, run.tensor_bytes);
    for (report::CaptureFault& fault : run.capture_faults) {
      fault.block = block;
      cell.capture_faults.push_back(std::move(fault));
    }
    for (report::GpuBlock& gpu : run.gpu_blocks) {
      gpu.block = block;
      cell.gpu_blocks.push_back(std::move(gpu));
    }
    const std::int64_t last_ns = keep_trace(session, index, block, run);
    if (times_.records(index)) times_.append(index, {block, last_ns, cell.trace_bytes}, run.figures.kernels);
    for (report::StepSample& sample : samples_of(run, block)) cell.samples.push_back(std::move(sample));
  }

  // Ranks report their GPUs, since their launcher assigns them. Shares of the peak rates depend on the model.
  void take_gpu_model(const report::BlockRun& run) {
    const std::string model = fmt::format("{}", fmt::join(run.gpus, "; "));
    if (model.empty() || model == results_.info.gpu_model) return;
    if (!results_.info.gpu_model.empty())
      throw std::invalid_argument(
          fmt::format("{} contains steps measured on {}, but the ranks now run on {}: choose another folder (-o DIR)",
                      options_.folder.string(), results_.info.gpu_model, model));
    results_.info.gpu_model = model;
    describe_anew(matrix_.cells, model, results_.cells);
  }

  // Returns the end of the trace; 0 if no trace is kept.
  std::int64_t keep_trace(Session& session, std::size_t index, std::int32_t block, const report::BlockRun& run) {
    CellResult& cell = results_.cells[index];
    if (cell.trace_file.empty()) return 0;
    const std::vector<std::int32_t> ranks = kept_ranks(matrix_.cells[index].plan.config.run.kept_traces, run, cell);
    if (ranks.empty()) return 0;
    Trace trace = session.take_trace(index, ranks);
    trace.metadata = compare::metadata_of(cell);
    trace.metadata.merge(
        std::map<std::string, std::string>{{"cell", cell.name},
                                           {"backend", std::string(to_string(results_.info.backend))},
                                           {"link", link_of(matrix_.cells[index])},
                                           {"overlap_knobs", knobs_by_purpose(matrix_.cells[index].plan)},
                                           {"clock", results_.info.clock}});
    if (!results_.info.gpu_model.empty()) trace.metadata["device_name"] = results_.info.gpu_model;
    traces_.keep(index, block, trace, cell);
    return trace.last_ns();
  }

  report::BlockLoad& load_of(std::int32_t block) {
    const auto known = std::ranges::find(results_.load, block, &report::BlockLoad::block);
    return known != results_.load.end() ? *known : results_.load.emplace_back(report::BlockLoad{.block = block});
  }

  MeasureOutcome finish() {
    MeasureOutcome outcome;
    status_.say("comparing losses");
    if (options_.verify) outcome.mismatches = label_numerics(matrix_.cells, results_.cells);
    for (const CellResult& cell : results_.cells)
      if (!cell.invalid_because.empty())
        outcome.invalid.push_back(fmt::format("cell {} is not valid: {}", cell.name, cell.invalid_because.front()));
    draw_conclusions(matrix_.cells, results_, times_,
                     [this](std::size_t cell) { status_.say("evaluating " + cell_text(cell)); });
    status_.say("writing results.json and report.md");
    write_results(options_.folder, results_);
    write_report(options_.folder, results_);
    return outcome;
  }

  const plan::Matrix& matrix_;
  const MeasureOptions& options_;
  plan::RunConfig run_;
  EarlyEnd early_end_;
  SignalWatch watch_;  // before any other thread
  StatusLine status_;
  std::optional<HeldRunFolder> folder_;
  RunResults results_;
  KernelFiles times_;
  CellTraces traces_;
  std::vector<CellPart> parts_;
  static constexpr int kAttempts = 2;    // per cell in a block
  std::map<std::size_t, int> failures_;  // in the current block
  std::set<std::size_t> left_out_;       // cells that failed that often
  Finished finished_;
};

}  // namespace

MeasureOutcome measure(const plan::Matrix& matrix, const MeasureOptions& options) {
  return Measurement(matrix, options).run();
}

}  // namespace underlap::bench
