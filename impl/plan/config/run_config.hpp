// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/trace/backend.hpp"

namespace underlap::plan {

/// Replaces the link between GPUs if there is only one GPU: a rank of a symmetric group runs alone, and each of its
/// transfers takes the time that the link would take.
struct EmulatedLink {
  double gb_per_s = 0;       ///< 1e9 bytes a second, in each direction of a rank
  int sms = 16;              ///< blocks of a transfer's kernel, one on each multiprocessor
  int cga_size = 0;          ///< blocks of a thread-block cluster; 0: NCCL's default on that GPU
  bool copy_engine = false;  ///< copy engines move data that needs no addition; reductions remain kernels
  double latency_us = 0;     ///< of each step of a ring
};

/// Which of the recorded traces a run keeps. Metrics use all traces, because each rank computes its own.
struct KeptTraces {
  enum class Which : std::uint8_t { all, none, worst, sample };
  Which which = Which::all;    ///< worst: for each cell the block with its longest step, of all ranks
  std::int64_t num_ranks = 0;  ///< sample: this many ranks, evenly spread
};

struct RunConfig {
  Backend backend = Backend::host;
  std::int64_t steps = 8;  ///< measured steps of one cell in one block
  std::int64_t blocks = 5;
  std::int64_t warmup = 2;  ///< unmeasured steps of each cell before its first block
  std::uint64_t seed = 1;
  std::optional<std::string> link;            ///< as written; nullopt: the real link
  std::optional<EmulatedLink> emulated_link;  ///< cuda: the parsed `link`; nullopt: the real link
  double link_gbps = 0;                       ///< Gbit/s of each rank and direction; 0: not paced
  double link_latency_us = 0;
  double peer_timeout_s = 30;
  bool rank_processes = false;  ///< each rank is a process instead of threads of one process
  bool trace = true;            ///< false: windows from marks alone, to measure the cost of tracing
  bool trace_strict = false;    ///< cuda: a block whose capture is incomplete fails its cell
  std::string traces = "all";   ///< as written
  KeptTraces kept_traces;       ///< parsed `traces`
  bool no_comm = false;         ///< the same plan with every transfer removed: T_comp
  std::string hardware;         ///< sim: name or path of a hardware file; default: the file for gpu_arch
  double speed = 1;             ///< sim: rate of GEMMs and attention, as a fraction of the hardware file's rate
  std::optional<std::int64_t> gpus_per_node;  ///< sim; nullopt: from the hardware file
  bool numerics = false;                      ///< sim: values are computed in virtual time
  double jitter_pct = 0;                      ///< sim: each duration varies by at most this much, seeded by `seed`
  bool fold = true;                           ///< sim: simulate one rank for all ranks with equal programs

  const BackendTraits& traits() const { return traits_of(backend); }
  /// Whether a run computes anything from its training text.
  bool reads_values() const { return traits().measures_time || numerics; }
};

}  // namespace underlap::plan
