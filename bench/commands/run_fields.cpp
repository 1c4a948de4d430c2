// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/run_fields.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "platform/flag_values.hpp"

namespace underlap::bench {
namespace {

// A field of `run:` has a flag of the same name, which wins.
constexpr std::array<std::pair<const char*, const char*>, 19> kRunFields{{
    {"backend", "host (CPU threads and sockets, measured), cuda (GPUs, measured) or sim (simulated)"},
    {"steps", "measured steps of each cell in a block"},
    {"blocks", "number of blocks; each block runs every cell"},
    {"warmup", "warm-up steps of each cell before its first block"},
    {"seed", "seed of weights, data and the order of cells"},
    {"link", "emulated link on one GPU: emulated:450GB/s,sms=16 or emulated:450GB/s,copy_engine; optional latency=5us"},
    {"link_gbps", "limit each rank and direction to this many Gbit/s"},
    {"link_latency_us", "latency of a transfer over the paced link, in microseconds"},
    {"peer_timeout_s", "timeout of a rank that waits for a peer, in seconds"},
    {"rank_processes", "run each rank as a process (always true with cuda)"},
    {"trace",
     "record a trace (false: step times only, no breakdown; in simulation also no lower bounds; strict: "
     "with cuda, an incomplete capture fails the cell)"},
    {"traces",
     "which traces to keep: all, none, worst (the block with each cell's longest step) or sample:N (N ranks)"},
    {"no_comm", "remove every transfer"},
    {"hardware", "name or file of the machine to simulate (`underlap list hardware`)"},
    {"speed", "scale the throughput of GEMMs and attention, e.g. 0.8 = 80 % of the hardware description"},
    {"gpus_per_node", "GPUs of a node (default: the hardware file's)"},
    {"numerics", "compute values and losses during the simulation"},
    {"jitter_pct", "vary durations at random by up to this many percent"},
    {"fold", "simulate one representative of identical ranks (false: every rank)"},
}};

constexpr const char* kLayers = "model.num_layers";

// "run.link_gbps" of the fields is "--link-gbps" of the command line.
std::string flag_of(std::string_view path) {
  if (path == kLayers) return "--layers";
  std::string flag = "--" + std::string(path.substr(path.find('.') + 1));
  std::ranges::replace(flag, '_', '-');
  return flag;
}

}  // namespace

void add_run_fields(CLI::App& command, RunFields& fields) {
  for (const auto& [field, what] : kRunFields) {
    const std::string path = std::string("run.") + field;
    if (command.get_option_no_throw(flag_of(path)) != nullptr) continue;
    command.add_option(flag_of(path), fields[path], what)->check(not_empty())->group(kRunFieldGroup);
  }
  command.add_option(flag_of(kLayers), fields[kLayers], "shorten the model to this many layers")->check(not_empty());
}

std::vector<plan::Override> overrides_of(const RunFields& fields) {
  std::vector<plan::Override> overrides;
  for (const auto& [path, value] : fields)
    if (!value.empty()) overrides.emplace_back(path, value);
  return overrides;
}

std::vector<std::string> flags_of(const RunFields& fields) {
  std::vector<std::string> flags;
  for (const auto& [path, value] : fields)
    if (!value.empty()) flags.insert(flags.end(), {flag_of(path), value});
  return flags;
}

}  // namespace underlap::bench
