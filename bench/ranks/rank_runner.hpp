// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impl/device/meeting.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/report/gpu_state.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// What one rank did of one cell in one block.
struct RankRun {
  Trace trace;  ///< this rank's slices, where the cell records them, its marks and its clock
  std::int32_t first_step = 0;
  std::vector<double> losses;                     ///< one per step; empty where no values were computed
  std::optional<std::int64_t> transfer_cpu_ns;    ///< of the threads that communicate, where the backend has such
  std::int64_t tensor_bytes = 0;                  ///< size of the cell's tensors on this rank; 0: unknown
  std::vector<std::string> notes = {};            ///< what a reader of the results should know of this block
  std::vector<std::string> invalid_because = {};  ///< why its times are not to be used
  std::vector<report::CaptureFault> capture_faults = {};  ///< records that its trace lacks
  std::optional<report::GpuBlock> gpu_block = {};         ///< its GPU around the block; nullopt: not read
  std::string gpu = {};                                   ///< what CUDA calls its GPU; empty where it has none
};

/// One rank of a matrix on one backend. Ranks are told the same things in the same order, each those that it is a
/// member of, and between two of them all wait for each other: none is emptied or built while another is measured.
class RankRunner {
 public:
  virtual ~RankRunner() = default;

  /// Builds a cell up with all that its steps need, together with the cell's other ranks.
  /// Throws std::invalid_argument for what the cell's files are missing or say, MachineError where ranks cannot be
  /// joined.
  virtual void build(std::size_t cell) = 0;

  /// Runs `steps` steps of a cell back to back and waits for their end. Throws MachineError where the machine fails,
  /// PeerError for what another rank's failure looks like from here; the rank is of no use afterwards.
  virtual void run(std::size_t cell, std::int32_t block, std::int64_t steps) = 0;

  /// What the last run of a cell gave; once. Throws MachineError where slices of a measured block found no slot: block
  /// -1 is a warm-up, whose slices may be let go.
  virtual RankRun take(std::size_t cell) = 0;

  /// Makes room in a cell's recorders for blocks of `steps` steps, from what its runs so far took a step.
  virtual void reserve(std::size_t cell, std::int64_t steps) = 0;

  /// What is to be added to this machine's steady clock so that times are those of rank 0's machine, nanoseconds. Told
  /// between runs; what take() gives of the next one has it.
  virtual void set_clock_offset(std::int64_t) {}

  /// Told before a rank that failed, or whose run has ended under it, is destroyed: it waits for no peer any more.
  virtual void give_up() noexcept {}
};

/// Now, on the clock of a rank's slices (the host's monotonic one) and on the wall clock.
inline ClockSnapshot clock_of(std::int32_t rank) {
  const auto now_ns = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return {.rank = rank, .device_ns = now_ns(CLOCK_MONOTONIC), .unix_ns = now_ns(CLOCK_REALTIME)};
}

/// As many as there are.
inline constexpr std::int32_t kAllRanks = std::numeric_limits<std::int32_t>::max();

/// What surrounds a rank that is a process.
struct RankEnvironment {
  std::string address = "127.0.0.1";     ///< of its machine, by which ranks of others reach it
  std::int32_t local_rank = 0;           ///< among the ranks of its machine: the number of its GPU
  std::int32_t num_sharing = kAllRanks;  ///< ranks that have the same CPUs, this one included
  bool is_launched = false;              ///< a launcher started its process, or the one that did
};

/// What a rank is told when it begins.
struct RankContext {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;           ///< ranks of the largest cell
  std::span<const plan::Cell> cells;     ///< all of the matrix; they outlive the rank
  std::vector<std::size_t> own_cells{};  ///< those of them that this rank is told to build; the others are not
  std::int32_t first_step = 0;           ///< steps are counted from here
  RankEnvironment environment{};
  Meeting* meeting = nullptr;  ///< where ranks that are processes find each other in build()
};

/// Whether `condition` holds for a cell of the rank's own.
inline bool any_own_cell(const RankContext& context, const std::function<bool(const plan::Config&)>& condition) {
  return std::ranges::any_of(context.own_cells,
                             [&](std::size_t cell) { return condition(context.cells[cell].plan.config); });
}

using RankFactory = std::function<std::unique_ptr<RankRunner>(const RankContext&)>;

/// The rank of a process of its own, on the backend that the cells name.
/// Throws std::invalid_argument for a backend that has no such ranks.
std::unique_ptr<RankRunner> make_rank_runner(const RankContext& context);

/// How many ranks take part in a cell; theirs are the numbers from 0.
std::int32_t num_ranks(const plan::Cell& cell);

/// The ranks of the largest cell.
std::int32_t world_size(std::span<const plan::Cell> cells);

/// How long a rank may wait for a peer: the same for all cells.
std::chrono::milliseconds peer_timeout(std::span<const plan::Cell> cells);

}  // namespace underlap::bench
