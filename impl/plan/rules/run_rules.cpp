// SPDX-License-Identifier: Apache-2.0
// How a backend changes the section run: whether ranks are processes. For sim: which machine it simulates, and how
// often to repeat a step. For cuda: what may replace a link.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "impl/plan/link_setting.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/rules/tensor_checks.hpp"
#include "impl/plan/schema/paths.hpp"
#include "impl/plan/usual_hardware.hpp"
#include "platform/text/digits.hpp"

namespace underlap::plan {
namespace {

/// 0 if only the hardware file has the number, because the plan does not open this file.
std::int64_t gpus_per_node(const RunConfig& run) {
  const UsualHardware* usual = usual_hardware_named(run.hardware);
  return run.gpus_per_node.value_or(usual == nullptr ? 0 : usual->gpus_per_node);
}

void decide_hardware(Resolution& r) {
  constexpr std::string_view kPath = "run.hardware";
  constexpr std::string_view kArch = "environment.gpu_arch";
  if (r.settings.given(kPath) || r.settings.invalid(kArch)) return;
  const std::string& arch = r.config().environment.gpu_arch;
  if (const UsualHardware* usual = usual_hardware_of(arch)) {
    r.config().run.hardware = usual->name;
    return r.decide(kPath, {std::string(usual->name), "auto", fmt::format("{} is {}", kArch, arch)});
  }
  r.error({kArch}, fmt::format("no hardware file is included for {} {}; name one with {}", kArch, arch, kPath));
}

/// All steps in virtual time are equal, so repeating them gains nothing. No warm-up is needed: the unmeasured step
/// before each block starts from idle devices.
void decide_repetitions(Resolution& r) {
  RunConfig& run = r.config().run;
  const std::string why = run.jitter_pct > 0
                              ? "simulation is deterministic except for run.jitter_pct; request more to see its spread"
                              : "simulation is deterministic";
  const auto decide = [&](std::string_view path, std::int64_t& count, std::int64_t value, const std::string& reason) {
    if (r.settings.given(path)) return;
    count = value;
    r.decide(path, {value, "auto", reason});
  };
  decide("run.steps", run.steps, 1, why);
  decide("run.blocks", run.blocks, 1, why);
  decide("run.warmup", run.warmup, 0, "simulation needs no warm-up");
}

void check_warmup(Resolution& r) {
  const RunConfig& run = r.config().run;
  if (run.warmup > 0) return;
  r.error({"run.warmup"}, fmt::format("run.warmup is 0, must be a whole number from 1 with backend {}: the first step "
                                      "generates code and must not be measured",
                                      run.traits().name));
}

/// One rank can represent others only if everything that it waits for is the same for them.
void decide_folding(Resolution& r) {
  constexpr std::string_view kPath = "run.fold";
  RunConfig& run = r.config().run;
  const auto switch_off = [&](const std::string& why) {
    if (run.fold) r.decide(kPath, {false, r.settings.given(kPath) ? "gate" : "auto", why});
    run.fold = false;
  };
  if (run.numerics) switch_off("run.numerics needs the values of every rank");
  if (run.jitter_pct > 0) switch_off("with run.jitter_pct every rank has different durations");
}

constexpr std::string_view kDeterministic = "model.deterministic_mode";
constexpr std::string_view kWithoutWindows = "ddp.disable_symmetric_registration";
constexpr std::string_view kLink = "run.link";

/// A command-line flag is for this run, so it must have an effect. A file may be shared between backends.
void warn_other_backends(Resolution& r) {
  const std::string_view backend = r.config().run.traits().name;
  for (const Row& row : rows()) {
    if (!r.settings.given(row.path) || is_used_by(row, r.config().run.backend)) continue;
    const std::string users = fmt::format("{}", fmt::join(split_words(row.backends), " and "));
    if (r.settings[row.path].place.override_index >= 0)
      r.error({row.path},
              fmt::format(
                  "{} has no effect: run.backend is {}, and the setting is for {}; leave it out, or add --backend {}",
                  row.path, backend, users, split_words(row.backends).front()));
    else
      r.warn_no_effect(row.path, fmt::format("run.backend is {}, and the setting is for {}", backend, users));
  }
}

void apply_sim_rules(Resolution& r) {
  decide_hardware(r);
  check_tensor_nodes(r, gpus_per_node(r.config().run));
  decide_repetitions(r);
  decide_folding(r);
}

/// Launch environment, the driver's locks and CUPTI are per process, so each rank with its own GPU is a process.
void decide_rank_processes(Resolution& r) {
  constexpr std::string_view kPath = "run.rank_processes";
  RunConfig& run = r.config().run;
  if (!run.traits().runs_on_gpus) return;
  if (r.settings.given(kPath) && !run.rank_processes)
    r.error({kPath},
            fmt::format("{} is false, but backend cuda runs every rank in its own process; leave it out", kPath));
  run.rank_processes = true;
  if (!r.settings.given(kPath)) r.decide(kPath, {true, "auto", "run.backend is cuda: one process per GPU"});
}

void read_link(Resolution& r) {
  if (!r.settings.given(kLink)) return;
  std::vector<std::string> errors;
  r.config().run.emulated_link = parse_link(r.settings.text(kLink, ""), errors);
  for (std::string& error : errors) r.error({kLink}, std::move(error));
}

void read_traces(Resolution& r) {
  constexpr std::string_view kPath = "run.traces";
  constexpr std::string_view kSample = "sample:";
  using Which = KeptTraces::Which;
  if (!r.settings.given(kPath) || r.settings.invalid(kPath)) return;
  const std::string& text = r.config().run.traces;
  KeptTraces& kept = r.config().run.kept_traces;
  if (!r.config().run.trace && text != "none")
    return r.error({kPath}, fmt::format("{} is {}, but run.trace is false: nothing is recorded; leave one of them out",
                                        kPath, text));
  constexpr std::array<std::pair<std::string_view, Which>, 3> kWords{
      {{"all", Which::all}, {"none", Which::none}, {"worst", Which::worst}}};
  const auto* word = std::ranges::find(kWords, text, &std::pair<std::string_view, Which>::first);
  if (word != kWords.end()) {
    kept.which = word->second;
    return;
  }
  kept.which = Which::sample;
  if (text.starts_with(kSample))
    kept.num_ranks = parse_number<std::int64_t>(std::string_view(text).substr(kSample.size())).value_or(0);
  if (kept.num_ranks < 1)
    r.error({kPath},
            fmt::format("{} is \"{}\", must be all, none, worst or sample:N with N of at least 1", kPath, text));
}

/// A rank that runs alone knows when its peers are ready only if they do the same at the same time.
void check_emulated_link(Resolution& r) {
  const RunConfig& run = r.config().run;
  if (!run.emulated_link) return;
  const bool is_refused_as_flag = r.settings[kLink].place.override_index >= 0;
  if (!run.traits().runs_on_gpus && !is_refused_as_flag)
    r.error({kLink}, fmt::format("an emulated link needs run.backend cuda; run.backend is {}: {}", run.traits().name,
                                 run.traits().measures_time ? "it paces its real link with run.link_gbps"
                                                            : "its links are described by run.hardware"));
  if (const std::int32_t stages = r.config().parallel.num_stages(); stages > 1)
    r.error({kLink},
            fmt::format("an emulated link represents one rank of a symmetric group, but {} is {}: pipeline stages work "
                        "at different times, which one GPU cannot reproduce; leave one of them out",
                        kPp, stages));
}

/// Peer copies connect GPUs of one node, and an emulated link has no peer.
void check_peer_copies(Resolution& r) {
  constexpr std::string_view kTransport = "extensions.tp_ring_transport";
  const Config& c = r.config();
  if (!c.run.traits().runs_on_gpus || !in_scope(Scope::tp, r) || c.extensions.tp_ring_transport != "copy_engine")
    return;
  if (c.run.emulated_link)
    return r.not_run({kTransport, kLink},
                     fmt::format("{} is copy_engine: peer copies need peers, and {} emulates a link without peers; set "
                                 "it to nccl, and {} to emulated:RATE,copy_engine to use copy engines",
                                 kTransport, kLink, kLink));
  const UsualHardware* node = usual_hardware_of(c.environment.gpu_arch);
  const std::int32_t tp = ranks_sharing(Shared::weights, c.parallel);
  if (node != nullptr && tp > node->gpus_per_node)
    r.error({kTransport, kTp}, fmt::format("{} is copy_engine, but {} is {}: peer copies work only within a node, and "
                                           "a node of {} has {} GPUs; set it to nccl",
                                           kTransport, kTp, tp, node->arch, node->gpus_per_node));
}

/// Rate of an H200's multiprocessor over the emulated link in an all-gather; 25 in a reduce-scatter. Source:
/// results/h200 (16 of them: 302 GB/s).
constexpr double kGbPerSOfAnSm = 19;

void warn_emulated_link(Resolution& r) {
  const RunConfig& run = r.config().run;
  if (!run.emulated_link || !run.traits().runs_on_gpus) return;
  r.notice(
      {kLink},
      "losses are not checked: with an emulated link, nothing arrives from the other ranks, so values are meaningless");
  r.notice({kLink}, "waiting for peers is not emulated: one rank represents its whole group");
  if (run.emulated_link->copy_engine)
    r.notice({kLink},
             fmt::format("a copy engine cannot reduce: reductions are kernels of {} SMs; sms=K sets another number",
                         run.emulated_link->sms));
  const EmulatedLink& link = *run.emulated_link;
  if (const double most = link.sms * kGbPerSOfAnSm; !link.copy_engine && link.gb_per_s > most)
    r.notice(
        {kLink},
        fmt::format(
            "{} SMs move about {:.0f} GB/s in an all-gather, as measured on an H200, not {:g}; this rate needs sms={}",
            link.sms, most, link.gb_per_s, std::ceil(link.gb_per_s / kGbPerSOfAnSm)));
}

/// Only NCCL has user buffers.
void warn_user_buffers(Resolution& r) {
  const RunConfig& run = r.config().run;
  const DdpConfig& ddp = r.config().ddp;
  if (!in_scope(Scope::dp, r) || !r.has_backend()) return;
  if (ddp.nccl_ub && !run.traits().runs_on_gpus)
    r.notice({kUserBuffers}, fmt::format("{} has no effect: run.backend is {}, and only NCCL has user buffers (cuda)",
                                         kUserBuffers, run.traits().name));
  else if (ddp.nccl_ub && run.emulated_link)
    r.notice({kUserBuffers},
             fmt::format("{} has no effect: {} emulates a link, and defines the GPU resources that it uses",
                         kUserBuffers, kLink));
  if (!ddp.nccl_ub && ddp.disable_symmetric_registration)
    r.notice({kWithoutWindows}, fmt::format("{} has no effect: {} is false", kWithoutWindows, kUserBuffers));
}

void warn_deterministic_mode(Resolution& r) {
  const BackendTraits& backend = r.config().run.traits();
  if (!r.config().model.deterministic_mode || !r.has_backend()) return;
  if (backend.runs_on_gpus && r.settings.flag("comm_overlap.tp_comm_overlap", false))
    r.notice({kDeterministic},
             "comm_overlap.tp_comm_overlap is unchanged; Megatron-Bridge's determinism overrides disable it");
  if (backend.runs_on_gpus) return;
  r.notice({kDeterministic},
           fmt::format("{} has no effect: run.backend is {}, which {}", kDeterministic, backend.name,
                       backend.measures_time
                           ? "always adds in the same order"
                           : "models one duration for attention's backward, regardless of the order of its sums"));
}

}  // namespace

void apply_run_rules(Resolution& r) {
  decide_rank_processes(r);
  warn_other_backends(r);
  if (r.config().run.traits().measures_time)
    check_warmup(r);
  else
    apply_sim_rules(r);
  read_link(r);
  read_traces(r);
  check_emulated_link(r);
  check_peer_copies(r);
  warn_emulated_link(r);
  warn_user_buffers(r);
  warn_deterministic_mode(r);
}

}  // namespace underlap::plan
