// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/host_room.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <thread>

#include "impl/device/recording_device.hpp"
#include "impl/step/planned_trainer.hpp"
#include "platform/memory_room.hpp"

namespace underlap::bench {
namespace {

// Files and bytes of the program and its libraries, in addition to those of ranks. The matrix library compiles its
// kernels on first use, and crashes if it gets no memory for that.
constexpr std::int64_t kSpareFiles = 64;
constexpr std::int64_t kSpareBytes = std::int64_t{24} << 20;
constexpr std::int64_t kTransportThreads = 1;

/// Resources that one rank of one cell requests from a device when it is built.
struct Needs {
  std::int64_t bytes = 0;  // of tensors
  std::int64_t threads = 0;
  std::int64_t sockets = 0;
};

Needs needs_of(const plan::Config& config, std::int32_t rank, const model::TextData& text, std::int32_t num_sharing) {
  RecordingDevice device(Detail::costs);
  const PlannedTrainer trainer(device, config, rank, text);
  const Program& program = device.program();
  Needs needs;
  for (const ProgramTensor& tensor : program.tensors) needs.bytes += tensor.elements * size_of(tensor.dtype);
  const auto streams = static_cast<std::int64_t>(program.streams.size());
  const auto communicators = static_cast<std::int64_t>(program.communicators.size());
  needs.threads = streams + (streams - communicators) * (compute_threads(config, num_sharing) - 1);
  for (const ProgramCommunicator& communicator : program.communicators) needs.sockets += communicator.group.size() - 1;
  return needs;
}

/// The needs of a cell's ranks. Ranks of one pipeline stage have the same needs.
class CellNeeds {
 public:
  CellNeeds(const plan::Config& config, Texts& texts, std::int32_t num_sharing)
      : config_(config), text_(texts.of(config)), num_sharing_(num_sharing) {}

  const Needs& of(std::int32_t rank) {
    const std::int32_t stage = rank / config_.parallel.stage_size();
    const auto [entry, is_new] = by_stage_.try_emplace(stage);
    if (is_new) entry->second = needs_of(config_, rank, text_, num_sharing_);
    return entry->second;
  }

 private:
  const plan::Config& config_;
  const model::TextData& text_;
  std::int32_t num_sharing_;
  std::map<std::int32_t, Needs> by_stage_;
};

// Cells stay in memory together, and share their connections.
Needs needs_of(std::span<const plan::Cell> cells, std::span<const std::size_t> own, std::span<const std::int32_t> ranks,
               Texts& texts, std::int32_t num_sharing = kAllRanks) {
  Needs all;
  for (const std::size_t index : own) {
    const plan::Cell& cell = cells[index];
    CellNeeds of_cell(cell.plan.config, texts, num_sharing);
    std::int64_t sockets = 0;
    for (const std::int32_t rank : ranks) {
      if (rank >= cell.plan.config.parallel.world_size()) continue;
      const Needs& needs = of_cell.of(rank);
      all.bytes += needs.bytes;
      all.threads += needs.threads;
      sockets += needs.sockets;
    }
    all.sockets = std::max(all.sockets, sockets);
  }
  return all;
}

std::string in_words(std::size_t cells, std::size_t ranks) {
  return fmt::format("{} rank{} of {} cell{}", ranks, ranks == 1 ? "" : "s", cells, cells == 1 ? "" : "s");
}

[[noreturn]] void refuse_memory(const std::string& what, double bytes, const Room& room) {
  throw std::invalid_argument(fmt::format("{} need {} together, but {} is available ({}): use fewer layers or ranks",
                                          what, in_bytes(static_cast<std::int64_t>(bytes)), in_bytes(room.amount),
                                          room.bound));
}

void check_memory(const Needs& needs, const std::string& what) {
  const Room room = memory_room();
  const std::int64_t wanted = needs.bytes + kSpareBytes;
  if (wanted > room.amount)
    refuse_memory("the tensors of " + what + " and the libraries that process them", static_cast<double>(wanted), room);
}

}  // namespace

int compute_threads(const plan::Config& config, std::int32_t num_sharing) {
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max(1, cores / std::min(config.parallel.world_size(), num_sharing));
}

double planned_bytes(std::span<const plan::Cell> cells, std::span<const std::size_t> own, std::int32_t most_ranks) {
  double bytes = 0;
  for (const std::size_t index : own) {
    const plan::Plan& plan = cells[index].plan;
    if (plan.config.run.traits().runs_on_cores || plan.config.run.numerics)
      bytes += double(plan.peak_memory.of_tensors()) * double(std::min(most_ranks, plan.config.parallel.world_size()));
  }
  return bytes;
}

void check_planned_memory(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                          std::int32_t most_ranks) {
  const double wanted = planned_bytes(cells, own, most_ranks);
  const Room room = memory_room();
  if (wanted <= static_cast<double>(room.amount)) return;
  std::int32_t ranks = 1;
  for (const std::size_t cell : own) ranks = std::max(ranks, cells[cell].plan.config.parallel.world_size());
  refuse_memory(in_words(own.size(), static_cast<std::size_t>(std::min(most_ranks, ranks))), wanted, room);
}

void check_host_memory(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                       std::span<const std::int32_t> ranks, Texts& texts) {
  check_memory(needs_of(cells, own, ranks, texts), in_words(own.size(), ranks.size()));
}

void check_host_process(std::span<const plan::Cell> cells, std::span<const std::size_t> own,
                        std::span<const std::int32_t> ranks, Texts& texts, std::int32_t num_sharing) {
  const Needs needs = needs_of(cells, own, ranks, texts, num_sharing);
  const std::string what = in_words(own.size(), ranks.size());
  require_open_files(needs.sockets + kSpareFiles, what);
  // One more thread per rank, which enqueues. While the trial threads exist, their stacks do not count as free memory.
  const TrialThreads threads(needs.threads + static_cast<std::int64_t>(ranks.size()) + kTransportThreads, what);
  check_memory(needs, what);
}

}  // namespace underlap::bench
