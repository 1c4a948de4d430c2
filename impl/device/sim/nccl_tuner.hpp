// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "impl/device/sim/hardware.hpp"

// How NCCL chooses an algorithm and a protocol: its own latency and bandwidth model, with its built-in constants and
// with the channel counts and rates that its topology search finds. The model ranks choices and leaves out launch and
// synchronization, so its times are used only if nothing was measured. Source: NCCL 2.28.9, src/graph/tuning.cc.
// Assumed: Intel CPUs, InfiniBand that passes LL128, balanced trees. Fails on other machines, and with NCCL_ALGO or a
// tuner plugin: NCCL then makes another choice, with another time.
namespace underlap::sim::nccl {

/// The ranks of a communicator, spread evenly over nodes; nodes are NVLink domains.
struct Group {
  std::int32_t ranks = 0;
  std::int32_t nodes = 1;

  double ranks_per_node() const { return static_cast<double>(ranks) / nodes; }
};

/// The properties of a machine that the model needs.
struct Machine {
  const NcclFigures& figures;
  std::int32_t gpus_per_node = 0;  ///< that the channels across nodes were found with
  double nvlink_gb_per_s = 0;      ///< line rate of one GPU and direction; no channels together are faster
  double network_gb_per_s = 0;     ///< likewise, of one GPU's port
};

/// The machine of a description; it borrows from `hardware`.
Machine machine_of(const Hardware& hardware);

/// The machine that the description's times of collectives were taken on; it borrows from `hardware`.
Machine machine_taken_on(const Hardware& hardware);

/// time = latency + bytes / algbw
struct Estimate {
  double latency_us = 0;
  double algbw_gb_per_s = 0;

  double time_us(std::int64_t bytes) const { return latency_us + static_cast<double>(bytes) / (1000 * algbw_gb_per_s); }
};

/// NCCL's estimate for one algorithm and protocol with a message of `bytes` (the larger buffer of the collective);
/// nothing if it cannot run that collective on that group. `collective` must not be all_to_all, send or receive, which
/// have no algorithm to choose.
std::optional<Estimate> estimate(const Machine& machine, Collective collective, const Group& group, std::int64_t bytes,
                                 Algorithm algorithm, Protocol protocol);

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Estimate estimate;
};

/// The fastest protocol of one algorithm; nothing where the algorithm cannot run.
std::optional<Choice> choose_protocol(const Machine& machine, Collective collective, const Group& group,
                                      std::int64_t bytes, Algorithm algorithm);

/// NCCL's choice: the pair with the smallest estimated time among the machine's algorithms.
Choice choose(const Machine& machine, Collective collective, const Group& group, std::int64_t bytes);

}  // namespace underlap::sim::nccl
