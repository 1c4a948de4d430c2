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

#include "impl/device/rank_store.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/report/gpu_state.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// Result of one block of one cell on one rank.
struct RankRun {
  Trace trace;  ///< this rank's slices, where the cell records them, its marks and its clock
  std::int32_t first_step = 0;
  std::vector<double> losses;                     ///< one per step; empty where no values were computed
  std::optional<std::int64_t> transfer_cpu_ns;    ///< of the communicating threads, if the backend has such threads
  std::int64_t tensor_bytes = 0;                  ///< size of the cell's tensors on this rank; 0: unknown
  std::vector<std::string> notes = {};            ///< remarks on this block for readers of the results
  std::vector<std::string> invalid_because = {};  ///< why its times are not valid
  std::vector<report::CaptureFault> capture_faults = {};  ///< records that its trace lacks
  std::optional<report::GpuBlock> gpu_block = {};         ///< its GPU around the block; nullopt: not read
  std::string gpu = {};                                   ///< CUDA's name of its GPU; empty if it has none
};

/// One rank of a matrix on one backend. All ranks get the calls in the same order, each those for its own cells. All
/// ranks wait for each other between two calls: no rank builds or drains a cell while another measures.
class RankRunner {
 public:
  virtual ~RankRunner() = default;

  /// Builds a cell with everything that its steps need, together with the cell's other ranks. Throws
  /// std::invalid_argument if the cell's files are missing or invalid, MachineError if ranks cannot connect.
  virtual void build(std::size_t cell) = 0;

  /// Runs `steps` steps of a cell back to back and waits for them. Throws MachineError if the machine fails, and
  /// PeerError if this looks like another rank's failure; the rank is unusable afterwards.
  virtual void run(std::size_t cell, std::int32_t block, std::int64_t steps) = 0;

  /// Moves out the result of the last run of a cell. Throws MachineError if slices of a measured block found no slot.
  /// Block -1 is a warm-up, whose slices may be dropped.
  virtual RankRun take(std::size_t cell) = 0;

  /// Reserves space in a cell's recorders for blocks of `steps` steps, based on the slices per step of its previous
  /// runs.
  virtual void reserve(std::size_t cell, std::int64_t steps) = 0;

  /// Sets the offset that converts this machine's steady clock to that of rank 0's machine, nanoseconds. Called between
  /// runs; the next run's take() applies it.
  virtual void set_clock_offset(std::int64_t) {}

  /// Called before the destructor if the rank failed or its run ended early: it no longer waits for peers.
  virtual void give_up() noexcept {}
};

/// The current time, on the clock of a rank's slices (the host's monotonic one) and on the wall clock.
inline ClockSnapshot clock_of(std::int32_t rank) {
  const auto now_ns = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return {.rank = rank, .device_ns = now_ns(CLOCK_MONOTONIC), .unix_ns = now_ns(CLOCK_REALTIME)};
}

/// All ranks.
inline constexpr std::int32_t kAllRanks = std::numeric_limits<std::int32_t>::max();

/// Environment of a rank that is a process.
struct RankEnvironment {
  std::string address = "127.0.0.1";     ///< of its machine, for ranks on other machines
  std::int32_t local_rank = 0;           ///< among the ranks of its machine: the number of its GPU
  std::int32_t num_sharing = kAllRanks;  ///< ranks that use the same CPUs, this one included
  bool is_launched = false;              ///< a launcher started its process or its parent
};

/// Arguments of a rank.
struct RankContext {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;           ///< ranks of the largest cell
  std::span<const plan::Cell> cells;     ///< all of the matrix; they outlive the rank
  std::vector<std::size_t> own_cells{};  ///< those that this rank builds; it does not take part in the others
  std::int32_t first_step = 0;           ///< steps are counted from here
  RankEnvironment environment{};
  RankStore* store = nullptr;  ///< where rank processes find each other in build()
};

/// Whether `condition` holds for one of the rank's own cells.
inline bool any_own_cell(const RankContext& context, const std::function<bool(const plan::Config&)>& condition) {
  return std::ranges::any_of(context.own_cells,
                             [&](std::size_t cell) { return condition(context.cells[cell].plan.config); });
}

using RankFactory = std::function<std::unique_ptr<RankRunner>(const RankContext&)>;

/// The rank of a separate process, on the backend that the cells name. Throws std::invalid_argument for a backend that
/// has no rank processes.
std::unique_ptr<RankRunner> make_rank_runner(const RankContext& context);

/// How many ranks take part in a cell, numbered from 0.
std::int32_t num_ranks(const plan::Cell& cell);

/// The number of ranks of the largest cell.
std::int32_t world_size(std::span<const plan::Cell> cells);

/// How long a rank may wait for a peer; the same for all cells.
std::chrono::milliseconds peer_timeout(std::span<const plan::Cell> cells);

}  // namespace underlap::bench
