// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/experiments.hpp"

#include <fmt/format.h>

#include <exception>
#include <sstream>
#include <stdexcept>

#include "platform/errors.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::bench {
namespace {

constexpr int kBlocks[] = {1, 2, 4, 8, 16, 24, 32};
constexpr std::array<std::string_view, 4> kBehind{"nothing", "kernel", "wait", "record"};

/// `sampled` times as efficiencies: the time at peak rate divided by the measured time.
Sampled efficiency(const Sampled& us, double peak_us) {
  return {.median = std::min(peak_us / us.median, 1.0), .spread = us.spread, .samples = us.samples};
}

void launch_latencies(Calibration& c) {
  const auto measure = [&](const char* path, HostCall call) {
    c.out.figures[path] = summarize(c.gpu.host_call_us(call, c.samples));
  };
  measure("host.kernel_launch_us", HostCall::launch);
  measure("host.event_record_us", HostCall::record);
  measure("host.event_wait_us", HostCall::wait);
  measure("host.copy_launch_us", HostCall::copy);
  c.out.figures["gpu.kernel_overhead_us"] = summarize(c.gpu.empty_kernel_us(c.samples));
}

double overhead_us(const Calibration& c) {
  const auto measured = c.out.figures.find("gpu.kernel_overhead_us");
  return measured != c.out.figures.end() ? measured->second.median : c.base.gpu.kernel_overhead_us.value;
}

double gemm_overhead_us(const Calibration& c) {
  const auto& described = c.base.kernels.gemm_overhead_us;
  return described ? described->value : overhead_us(c);
}

void copy_bandwidth(Calibration& c) {
  std::vector<CurvePoint>& curve = c.out.curves["kernels.memory"];
  const std::int64_t largest = std::max((std::int64_t{1} << 30) / (c.shrink * c.shrink), std::int64_t{1} << 18);
  for (std::int64_t bytes = std::int64_t{1} << 16; bytes <= largest; bytes *= 4) {
    const Sampled us = summarize(c.gpu.copy_us(bytes, c.samples));
    const auto moved = static_cast<double>(2 * bytes);  // read and written
    const double peak_us = moved / c.base.gpu.hbm_gb_per_s.value * 1e-3;
    curve.push_back(
        {moved, efficiency({us.median - std::min(overhead_us(c), us.median / 2), us.spread, us.samples}, peak_us)});
    c.out.rates.push_back(
        {.of = "copy", .shape = fmt::format("{} bytes", bytes), .us = us, .gb_per_s = moved / us.median * 1e-3});
  }
}

Sampled time_of(Calibration& c, const Work& work) {
  const Sampled us = summarize(c.gpu.work_us(work, c.samples));
  const Cost& cost = work.operation.cost();
  c.out.rates.push_back({.of = std::string(name_of(work.operation.name())),
                         .shape = work.shape,
                         .us = us,
                         .tflops = cost.flops / us.median * 1e-6,
                         .gb_per_s = static_cast<double>(cost.bytes_read + cost.bytes_written) / us.median * 1e-3});
  return us;
}

void gemm_shapes(Calibration& c) {
  for (const Work& work : gemm_works([&](std::int64_t value) { return c.size(value); })) time_of(c, work);
}

/// sim's curve is of one tile over K, so M and N give whole waves: four tiles for each multiprocessor.
void gemm_over_k(Calibration& c) {
  const std::int64_t tiles = std::int64_t{4} * c.gpu.num_sms();
  std::int64_t rows = 1;
  for (std::int64_t r = 1; r * r <= tiles; ++r)
    if (tiles % r == 0) rows = r;
  const std::int64_t m = c.size(rows * static_cast<std::int64_t>(c.base.kernels.gemm_tile_rows.value));
  const std::int64_t n = c.size(tiles / rows * static_cast<std::int64_t>(c.base.kernels.gemm_tile_cols.value));
  std::vector<CurvePoint> curve;
  for (std::int64_t k = 128; k <= 32768; k *= 2) {
    const Work work = gemm_work(m, n, c.size(k));
    const Sampled us = time_of(c, work);
    const double peak_us = work.operation.cost().flops / c.base.gpu.bf16_tflops.value * 1e-6;
    const double moving_us = us.median - std::min(gemm_overhead_us(c), us.median / 2);
    curve.push_back({static_cast<double>(k), efficiency({moving_us, us.spread, us.samples}, peak_us)});
  }
  c.out.curves["kernels.gemm_bf16"] = std::move(curve);
}

void attention(Calibration& c, bool backward) {
  const std::string_view direction = backward ? "backward" : "forward";
  const auto& known = backward ? c.base.kernels.attention_backward : c.base.kernels.attention_forward;
  for (const std::int64_t head_size : {64, 128}) {
    const bool has_curve =
        std::ranges::any_of(known, [&](const sim::AttentionCurve& curve) { return curve.head_size == head_size; });
    std::vector<CurvePoint> curve;
    for (std::int64_t sequence = 1024; sequence <= 16384; sequence *= 2) {
      const std::int64_t groups = c.shrink == 1 ? 1024 / head_size : 1;
      const Work work = attention_work(c.size(sequence), 4 * groups, groups, head_size, backward);
      const Sampled us = time_of(c, work);
      const double peak_us = work.operation.cost().flops / c.base.gpu.bf16_tflops.value * 1e-6;
      curve.push_back({static_cast<double>(sequence), efficiency(us, peak_us)});
    }
    if (has_curve) c.out.curves[fmt::format("kernels.attention_{}.{}", direction, head_size)] = std::move(curve);
  }
}

void attention_forward(Calibration& c) { attention(c, false); }
void attention_backward(Calibration& c) { attention(c, true); }

void norm_shapes(Calibration& c) {
  for (const std::int64_t hidden : {4096, 8192}) time_of(c, norm_work(c.size(8192), c.size(hidden)));
}

void measure_concurrent(Calibration& c, const std::string& of, const Work& work, const Communication& communication) {
  const double alone = report::median(c.gpu.work_us(work, c.samples));
  Beside beside = c.gpu.work_beside_us(work, communication, c.samples);
  for (double& value : beside.us) value /= alone;
  const Sampled slowdown = summarize(beside.us);
  c.out.interference.push_back({{.copy_engine = communication.copy_engine,
                                 .sms = communication.sms,
                                 .gb_per_s = communication.gb_per_s,
                                 .carried_gb_per_s = beside.gb_per_s,
                                 .of = of,
                                 .slowdown = slowdown.median,
                                 .spread = slowdown.spread},
                                slowdown.samples});
}

/// Every communication concurrent with one operation, with and without pacing to the base's link.
void interference_of(Calibration& c, const std::string& of, const Work& work) {
  const double line_rate = c.base.node.nvlink_gb_per_s.value;
  bool has_copy_engines = true;
  for (const double rate : {line_rate, 0.0}) {
    for (const int blocks : kBlocks)
      if (c.shrink == 1 || blocks == 16) measure_concurrent(c, of, work, {.sms = blocks, .gb_per_s = rate});
    if (!has_copy_engines) continue;
    try {
      measure_concurrent(c, of, work, {.copy_engine = true, .gb_per_s = rate});
    } catch (const MachineError& error) {
      c.out.skipped.emplace_back(of + "_interference, with copy engines", error.what());
      has_copy_engines = false;
    }
  }
}

Work usual_gemm(const Calibration& c) { return gemm_work(c.size(8192), c.size(4096), c.size(4096)); }

void gemm_interference(Calibration& c) { interference_of(c, "gemm", usual_gemm(c)); }
void attention_interference(Calibration& c) {
  const std::int64_t groups = c.shrink == 1 ? 8 : 1;
  interference_of(c, "attention", attention_work(c.size(8192), 4 * groups, groups, 128, false));
}
void norm_interference(Calibration& c) { interference_of(c, "norm", norm_work(c.size(8192), c.size(4096))); }

WithLimits with_limits(const std::vector<double>& rounds) {
  const auto limits = report::difference_interval(rounds);
  const double middle = report::median(rounds);
  return {.value = middle, .low = limits ? limits->low : middle, .high = limits ? limits->high : middle};
}

/// With clusters as NCCL launches them, and without clusters.
void link_validation(Calibration& c) {
  constexpr int kBlocksOfARank = 16;
  const int rounds = c.shrink > 1 ? 2 : 7;
  const int samples = std::max(c.samples / 4, 3);
  for (const int cga_size : {4, 1}) {
    const RankPair pair{.sms = kBlocksOfARank, .cga_size = cga_size, .message_bytes = c.size(std::int64_t{64} << 20)};
    std::vector<double> nccl, emulated, difference, polling;
    LinkRound last;
    for (const LinkRound& round : c.gpu.link_rounds(usual_gemm(c), pair, rounds, samples)) {
      nccl.push_back(round.nccl_us / round.alone_us);
      emulated.push_back(round.emulated_us / round.alone_us);
      difference.push_back(round.emulated_us / round.nccl_us - 1);
      polling.push_back(round.polling_us / round.nccl_us - 1);
      last = round;
    }
    c.out.link_validation.push_back({.sms = pair.sms,
                                     .cga_size = cga_size,
                                     .gb_per_s = last.gb_per_s,
                                     .unpaced_gb_per_s = last.unpaced_gb_per_s,
                                     .by_memory = last.by_memory,
                                     .nccl_slowdown = with_limits(nccl),
                                     .emulated_slowdown = with_limits(emulated),
                                     .difference = with_limits(difference),
                                     .polling = with_limits(polling),
                                     .rounds = rounds});
  }
}

constexpr std::array<Experiment, 11> kExperiments{{
    {"launch_latencies", "host time of a launch, record, wait and copy; device time of a kernel", launch_latencies},
    {"copy_bandwidth", "bytes read and written per second, by size", copy_bandwidth},
    {"gemm_over_k", "efficiency of full waves of tiles over K: sim's curve", gemm_over_k},
    {"gemm_interference", "a GEMM concurrent with communication of k blocks, and with copy engines", gemm_interference},
    {"norm_interference", "the same for a norm", norm_interference},
    {"attention_interference", "the same for attention", attention_interference},
    {"gemm_shapes", "GEMMs of llama3-8b and -70b layers at TP 1 to 8, and square GEMMs", gemm_shapes},
    {"norm_shapes", "norms of llama3-8b and -70b", norm_shapes},
    {"attention_forward", "efficiency by sequence length: sim's curves", attention_forward},
    {"attention_backward", "the same for the backward pass", attention_backward},
    {kLinkValidation, "a GEMM concurrent with NCCL's own kernels, and with the emulated link; must run alone",
     link_validation},
}};

}  // namespace

std::span<const Experiment> experiments() { return kExperiments; }

void run_experiments(Calibration& calibration, const std::vector<std::string>& only,
                     const std::function<void(std::string_view)>& progress) {
  for (const std::string& name : only)
    if (std::ranges::none_of(kExperiments, [&](const Experiment& e) { return e.name == name; }))
      throw std::invalid_argument(fmt::format("no experiment {}; --list shows them all", name));
  if (only.size() > 1 && std::ranges::find(only, kLinkValidation) != only.end())
    throw std::invalid_argument(
        fmt::format("{} needs its own process: run no other experiment with it", kLinkValidation));
  for (const Experiment& experiment : kExperiments) {
    if (only.empty() && experiment.name == kLinkValidation) continue;
    if (!only.empty() && std::ranges::find(only, experiment.name) == only.end()) continue;
    progress(experiment.name);
    try {
      experiment.run(calibration);
    } catch (const std::exception& error) {
      calibration.out.skipped.emplace_back(experiment.name, error.what());
    }
  }
  std::erase_if(calibration.out.curves, [](const auto& curve) { return curve.second.empty(); });
}

std::vector<std::pair<sim::QueueObservation, int>> probe_queues(Gpu& gpu, int connections, int samples) {
  std::vector<std::pair<sim::QueueObservation, int>> out;
  for (const std::string_view behind : kBehind) {
    for (const bool same_queue : {true, false}) {
      const Sampled held = summarize(gpu.held(behind, same_queue, samples));
      out.push_back({{.connections = connections,
                      .behind = std::string(behind),
                      .same_queue = same_queue,
                      .held = held.median,
                      .spread = held.spread},
                     held.samples});
    }
  }
  return out;
}

std::vector<std::string> judge_queues(std::span<const std::pair<sim::QueueObservation, int>> seen) {
  std::vector<std::string> lines;
  for (const auto& [observation, samples] : seen) {
    // With one connection, the next stream uses the same queue too.
    const bool shares = observation.same_queue || observation.connections == 1;
    const bool assumed = shares && (observation.behind == "kernel" || observation.behind == "wait");
    if (observation.holds() != assumed)
      lines.push_back(fmt::format("{} connections, {}, {}: {}, but sim assumes that it {}", observation.connections,
                                  observation.behind, observation.same_queue ? "same queue" : "next stream",
                                  observation.holds() ? "blocks" : "does not block", assumed ? "does" : "does not"));
  }
  if (lines.empty()) lines.emplace_back(seen.empty() ? "hardware queues were not probed" : "as sim assumes");
  return lines;
}

void probe_all_queues(Measurements& out, const std::function<std::string(int connections)>& probe) {
  for (const int connections : kConnections) {
    try {
      std::istringstream lines(probe(connections));
      for (std::string line; std::getline(lines, line);) {
        sim::QueueObservation seen;
        int samples = 0;
        if (from_line(line, seen, samples)) out.hardware_queues.emplace_back(seen, samples);
      }
    } catch (const std::exception& error) {
      out.skipped.emplace_back(fmt::format("hardware_queues at {} connections", connections), error.what());
    }
  }
}

}  // namespace underlap::bench
