// SPDX-License-Identifier: Apache-2.0
// What a backend decides of the section run: whether ranks are processes; with sim which machine it stands for, and how
// often a step is worth repeating.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "impl/plan/resolution.hpp"

namespace underlap::plan {
namespace {

/// Hardware files that ship with Underlap, by environment.gpu_arch.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kHardware{{
    {"a100", "a100-sxm"},
    {"h100", "h100-sxm"},
    {"h200", "h200-sxm"},
    {"b200", "b200"},
    {"gb200", "gb200"},
}};

void decide_hardware(Resolution& r) {
  constexpr std::string_view kPath = "run.hardware";
  constexpr std::string_view kArch = "environment.gpu_arch";
  if (r.settings.given(kPath) || r.settings.invalid(kArch)) return;
  const std::string& arch = r.config().environment.gpu_arch;
  for (const auto& [of_arch, hardware] : kHardware) {
    if (of_arch != arch) continue;
    r.config().run.hardware = hardware;
    return r.decide(kPath, {fmt::format("\"{}\"", hardware), "auto", fmt::format("{} is {}", kArch, arch)});
  }
  r.error({kArch}, fmt::format("no hardware file ships for {} {}; name one with {}", kArch, arch, kPath));
}

/// One step in virtual time is like the next, so repeating it buys nothing.
void decide_repetitions(Resolution& r) {
  RunConfig& run = r.config().run;
  const std::string why = run.jitter_pct > 0
                              ? "virtual time repeats itself but for run.jitter_pct; ask for more to see its spread"
                              : "virtual time repeats itself";
  const auto decide = [&](std::string_view path, std::int64_t& count) {
    if (r.settings.given(path)) return;
    count = 1;
    r.decide(path, {"1", "auto", why});
  };
  decide("run.steps", run.steps);
  decide("run.blocks", run.blocks);
  decide("run.warmup", run.warmup);
}

/// The host backend's ways to shape and to watch a link.
void refuse_host_links(Resolution& r) {
  for (const std::string_view path : {"run.link_gbps", "run.link_latency_us"})
    if (r.settings.given(path))
      r.error({path}, fmt::format("{} is for real links; with backend sim the hardware file says what a link does: "
                                  "leave it out, or give run.hardware a file with other figures",
                                  path));
  for (const std::string_view path : {"run.link", "run.peer_timeout_s"})
    if (r.settings.given(path)) r.notice({path}, fmt::format("{} has no effect: run.backend is sim", path));
}

/// Launch environment, the driver's locks and CUPTI are per process: a rank that owns a GPU is one.
void decide_rank_processes(Resolution& r) {
  constexpr std::string_view kPath = "run.rank_processes";
  RunConfig& run = r.config().run;
  if (run.backend == "sim" && r.settings.given(kPath))
    r.notice({kPath}, fmt::format("{} has no effect: run.backend is sim", kPath));
  if (run.backend != "cuda") return;
  if (r.settings.given(kPath) && !run.rank_processes)
    r.error({kPath},
            fmt::format("{} is false, but with backend cuda every rank is a process of its own: leave it out", kPath));
  run.rank_processes = true;
  if (!r.settings.given(kPath)) r.decide(kPath, {"true", "auto", "run.backend is cuda: one process for each GPU"});
}

}  // namespace

void apply_run_rules(Resolution& r) {
  decide_rank_processes(r);
  if (r.config().run.backend != "sim") return;
  decide_hardware(r);
  decide_repetitions(r);
  refuse_host_links(r);
}

}  // namespace underlap::plan
