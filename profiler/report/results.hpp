// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/analysis/compute_change.hpp"
#include "profiler/analysis/split.hpp"
#include "profiler/report/gpu_state.hpp"
#include "profiler/trace/backend.hpp"

namespace underlap::report {

/// One measured step of one cell.
struct StepSample {
  std::int32_t block = 0;
  std::int32_t step = 0;       ///< step of the cell's run
  std::int64_t step_ns = 0;    ///< difference of the ranks' latest marks
  std::optional<double> loss;  ///< mean over the ranks, nats a token; absent where no values were computed
  /// CPU time of all ranks' communication threads and of the transport's own, in the window; absent in virtual time
  std::optional<std::int64_t> transfer_cpu_ns;
  std::vector<analysis::Split> ranks;  ///< by rank that ran; empty where the cell was run without its recorder
};

/// What comparing a cell's losses with those of its reference cell gave.
enum class NumericsLabel : std::uint8_t { reference, bit_identical, reordered, lower_precision, not_checked, mismatch };

/// "reference", "bit_identical", ...
std::string_view to_string(NumericsLabel);
constexpr NumericsLabel last_value(NumericsLabel) { return NumericsLabel::mismatch; }

/// "lower_precision 2.1e-04"; includes the difference only if the label allows one.
std::string numerics_text(NumericsLabel label, double max_loss_difference);

/// What made the compute of a cell's windows longer or shorter than that of its off cell.
struct ComputeSinceOff {
  std::string off_cell;
  std::int64_t windows = 0;        ///< of either cell, of all ranks and measured steps, that `change` sums over
  analysis::ComputeChange change;  ///< from the off cell
};

/// What a step of a cell works on, which its rates are of.
struct StepWork {
  std::int64_t tokens = 0;              ///< of all ranks; 0 in results before it
  std::map<std::string, double> flops;  ///< of all ranks, by what is counted: "full", "causal", ... (bench/METRICS.md)
  double peak_tflops = 0;               ///< dense, of one GPU, in the format of the products; 0: not known
  std::string peak_of;                  ///< what has that peak: "h100-sxm, bf16"; or why it is not known
};

/// The cells that a cell is compared with, by name, from the run's plan (impl/plan/cell_references.hpp).
/// bench/METRICS.md describes how they are chosen. Empty: there is no such cell.
struct PlannedReferences {
  std::string off;
  std::string no_comm;
  std::vector<std::string> overlaps;  ///< keys of overlap that are on in the cell
};

/// Where one rank of a run was that a launcher started, and what it was left of the machine.
struct LaunchedRank {
  std::string node;
  std::int32_t local_rank = 0;  ///< among the ranks of its node
  std::string cpus;             ///< that it might use, as the kernel lists them: "0-3,8"
  std::string visible_devices;  ///< CUDA_VISIBLE_DEVICES; empty where it was not set
  std::string numa_nodes = {};  ///< of those CPUs: "0,1"; empty if unknown
};

/// Where and when a cell was measured by itself, which took no turns with the others of its run.
struct OwnAllocation {
  std::string started_utc;  ///< ISO 8601, when the cell was begun
  std::string cpu_model;
  std::vector<LaunchedRank> ranks;  ///< those that it was begun on
};

/// One cell of the matrix, as measured so far.
struct CellResult {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;  ///< axis -> value; each axis once
  std::string plan_json;                                    ///< schema underlap.plan/1; read back in compact form
  std::optional<PlannedReferences> references = {};         ///< absent in results before it
  bool no_comm = false;
  bool paced = false;
  std::int32_t num_ranks = 0;            ///< of the plan; 0 in results before it
  std::int32_t num_ranks_played = 0;     ///< ranks with steps in samples; fewer if one represents identical others
  std::int64_t peak_memory_bytes = 0;    ///< predicted, of the rank that needs most; 0 in results before it
  std::int64_t tensor_bytes = 0;         ///< measured size of tensors on the rank with the most; 0: not measured
  std::int64_t device_memory_bytes = 0;  ///< of one modelled GPU, which nothing held to it; 0: not modelled
  std::string memory_advice;             ///< where that is too little: what would fit
  StepWork work = {};
  /// Requests that are not in effect in this cell, each with the reason; results before it lack it
  std::vector<std::string> not_as_requested = {};
  std::vector<StepSample> samples;
  std::vector<double> warmup_losses;  ///< losses of the steps before the first block
  NumericsLabel label = NumericsLabel::not_checked;
  double max_loss_difference = 0;        ///< relative, against the reference cell
  std::optional<std::int64_t> bound_ns;  ///< least time of the step by its own schedule: durations alone, no contention
  std::optional<std::int64_t> bound_ideal_ns;  ///< least time of the step by any schedule; results before it lack it
  /// What one step's kernels take alone, by purpose, as the bounds have it, mean over the ranks of a pipeline; empty
  /// where there are no bounds
  std::map<std::string, std::int64_t> bound_kernel_ns;
  /// Durations of the measured windows' kernels, by purpose, sum over ranks and steps that did not stall; empty without
  /// recorder
  std::map<std::string, std::int64_t> kernel_ns;
  std::int64_t kernel_windows = 0;  ///< that kernel_ns sums over; 0 in results of before stalled steps were left out
  std::optional<ComputeSinceOff> compute_since_off;  ///< absent for a cell without off cell or recorder
  std::string bound_source;                          ///< which cells the bounds' durations come from
  std::string trace_file;                            ///< relative to the run folder; empty without recorder
  std::int64_t trace_bytes = 0;                      ///< length of the trace after the last finished block
  /// By how much times of ranks on other machines may be wrong against rank 0's, the most of all blocks; 0 where all
  /// have one clock, and in results before it
  std::int64_t clock_residual_ns = 0;
  std::vector<std::string> notes;            ///< notes of ranks on their measured blocks
  std::vector<std::string> invalid_because;  ///< by block: why its times are not to be used; empty: all is well
  /// Records that the capture of its blocks lacks; results before it lack it
  std::vector<CaptureFault> capture_faults = {};
  /// Clocks, power and throttling of its ranks' GPUs around each block; empty without NVML, and in results before it
  std::vector<GpuBlock> gpu_blocks = {};
  /// Why it was left out of the blocks after those in its samples, as in invalid_because; empty: it was not, and in
  /// results before it
  std::string failed_because = {};
  std::optional<OwnAllocation> own_allocation = {};  ///< absent where cells took turns, block by block
};

/// How many blocks a cell has samples of; they are the first ones.
std::int32_t blocks_of(const CellResult& cell);

/// Where and how a run was made.
struct RunInfo {
  std::string command;
  std::string commit;  ///< of the Underlap that ran; "unknown" where it was not built from a checkout
  std::string version;
  std::string started_utc;     ///< ISO 8601
  std::string host_name_hash;  ///< distinguishes machines without naming them
  std::string cpu_model;
  std::string gpu_model =
      {};  ///< what CUDA calls the ranks' GPUs, "; " between several; empty without, and in results before it
  std::int32_t num_cpus = 0;
  std::string operating_system;
  std::string compiler;
  std::map<std::string, std::string> library_versions;  ///< oneDNN, Gloo, ...
  Backend backend = Backend::host;
  std::string link;   ///< real, "paced to 4 Gbit/s", emulated, modelled
  std::string clock;  ///< which clock the times come from
  std::uint64_t seed = 0;
  std::string config_hash;  ///< of the resolved matrix and the files that it names; --resume refuses another one
  /// Hashes of what the files that the matrix names held, by path (train.data, run.hardware); results before it lack it
  std::map<std::string, std::string> input_hashes = {};
  std::string commit_utc = {};   ///< ISO 8601, when the commit was made; empty where it is not known
  std::string series = {};       ///< what runs that were started together share (`run --runs`); empty: a run of its own
  std::int32_t series_run = 0;   ///< which of them this is, from 0
  std::int32_t series_runs = 0;  ///< how many were to be, of each side; 0 where it is not known
  std::string series_side = {};  ///< "baseline" or "candidate" where two took turns (`run --interleave`); else empty
  std::string launcher = {};     ///< what started the ranks (mpirun, srun, torchrun), in words; empty: the run itself
  std::vector<LaunchedRank> launched_ranks = {};  ///< those that it started, by rank
  std::string flops = "full";                     ///< how the rates of its tables count FLOPs: a key of StepWork::flops
};

/// How many of the ranks each node had, in the order of the nodes' first ranks.
std::vector<std::pair<std::string, std::int32_t>> launched_nodes(const std::vector<LaunchedRank>& ranks);

/// Where the ranks of a cell were: in its own allocation, else in the run's.
const std::vector<LaunchedRank>& launched_ranks_of(const RunInfo& info, const CellResult& cell);

/// What the machine's processors did while the steps of a block were measured, in processor time.
struct BlockLoad {
  std::int32_t block = 0;
  std::int32_t cpus = 0;           ///< that the run may use
  std::int64_t wall_ns = 0;        ///< of all cells, settling steps included
  std::int64_t own_cpu_ns = 0;     ///< of the run and its ranks
  std::int64_t other_cpu_ns = 0;   ///< of other processes, on the same CPUs
  std::int64_t stolen_cpu_ns = 0;  ///< that a hypervisor gave to others
};

/// A cell of the matrix that could not be run, and why, a line each: "config.yaml:3:5: ...".
struct RefusedCell {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> because;
};

/// A whole run: its results file, schema underlap.results/1.
struct RunResults {
  RunInfo info;
  std::int32_t blocks_planned = 0;
  std::int32_t blocks_done = 0;
  /// Blocks before which --resume, or ranks started anew, began with fresh weights; none in results before it
  std::vector<std::int32_t> resumed_at_blocks;
  std::vector<BlockLoad> load;  ///< by block; empty in virtual time, and in results of before it was kept
  std::vector<CellResult> cells;
  std::vector<RefusedCell> refused;  ///< none in results before it
};

/// Whether a results file holds the cells' summaries.
enum class Statistics : std::uint8_t { included, left_out };

/// `results` as JSON text, schema underlap.results/1. Each cell also has `statistics`, its summary
/// (profiler/report/cell_summary.hpp), which reading ignores. Leave it out during a run: it costs more with every
/// block. Throws std::invalid_argument if a cell's plan is not JSON or an axis occurs twice.
std::string results_text(const RunResults& results, Statistics statistics = Statistics::included);

/// The JSON Schema of results_text(), as JSON text.
std::string results_json_schema();

/// Writes results_text() to `folder`/results.json: whole or not at all (temporary file, fsync, rename). Removes what
/// was compressed there, which is of an earlier state of the run. Throws as results_text() does, and MachineError with
/// the path and the system's reason.
void write_results(const std::filesystem::path& folder, const RunResults& results,
                   Statistics statistics = Statistics::included);

/// Reads what write_results wrote, also compressed (find_results()). Throws std::invalid_argument naming the file, and
/// the place where JSON is wrong or a field is missing; also for a newer schema.
RunResults read_results(const std::filesystem::path& folder);

}  // namespace underlap::report
