// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/trace/backend.hpp"

namespace underlap::plan {

/// A stand-in for the link between GPUs, where there is one GPU: a rank of a symmetric group runs alone, and each of
/// its transfers takes the time that the link would take.
struct EmulatedLink {
  double gb_per_s = 0;       ///< 1e9 bytes a second, in each direction of a rank
  int sms = 16;              ///< blocks of a transfer's kernel, one on each multiprocessor
  int cga_size = 0;          ///< blocks of a thread-block cluster; 0: as NCCL launches them on that GPU
  bool copy_engine = false;  ///< copy engines move what needs no addition; reductions are kernels all the same
  double latency_us = 0;     ///< of each step of a ring
};

/// Which of the traces that ranks record a run keeps. Figures come from all of them: ranks make their own.
struct KeptTraces {
  enum class Which : std::uint8_t { all, none, worst, sample };
  Which which = Which::all;    ///< worst: of each cell the block with its longest step, of all ranks
  std::int64_t num_ranks = 0;  ///< sample: so many, evenly spread
};

struct RunConfig {
  Backend backend = Backend::host;
  std::int64_t steps = 8;  ///< measured steps of one cell in one block
  std::int64_t blocks = 5;
  std::int64_t warmup = 2;  ///< unmeasured steps of each cell before its first block
  std::uint64_t seed = 1;
  std::optional<std::string> link;            ///< as written; nullopt: the link that is there
  std::optional<EmulatedLink> emulated_link;  ///< cuda: what `link` says; nullopt: the link that is there
  double link_gbps = 0;                       ///< Gbit/s of each rank and direction; 0: not paced
  double link_latency_us = 0;
  double peer_timeout_s = 30;
  bool rank_processes = false;  ///< each rank is a process of its own, and not threads of one
  bool trace = true;            ///< false: windows from marks alone, for the cost of tracing
  bool trace_strict = false;    ///< cuda: a block whose capture is incomplete fails its cell
  std::string traces = "all";   ///< as written
  KeptTraces kept_traces;       ///< what `traces` says
  bool no_comm = false;         ///< the same plan with every transfer removed: T_comp
  std::string hardware;         ///< sim: name or path of a hardware file, the one for gpu_arch where none was written
  double speed = 1;             ///< sim: of GEMMs and attention, as a part of what the hardware file says
  std::optional<std::int64_t> gpus_per_node;  ///< sim; nullopt: as the hardware file says
  bool numerics = false;                      ///< sim: values are computed in virtual time
  double jitter_pct = 0;                      ///< sim: each duration is varied by up to so much, seeded by `seed`
  bool fold = true;  ///< sim: of ranks whose programs are equal one is simulated for all, and it stands for the others

  const BackendTraits& traits() const { return traits_of(backend); }
  /// Whether a run computes anything from the text that it trains on.
  bool reads_values() const { return traits().measures_time || numerics; }
};

}  // namespace underlap::plan
