// SPDX-License-Identifier: Apache-2.0
// No step gets shorter because a machine got slower: exactly so where its devices have room for all that is on them,
// with every queue, wait and meeting of the engine; and where they share, but for what another order of sharing costs.
#include <cstdlib>
#include <map>

#include "impl/device/sim/machine.hpp"
#include "impl/plan/plan.hpp"
#include "impl/step/simulation.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/windows.hpp"
#include "tests/impl/device/sim/figure_edits.hpp"

namespace underlap {
namespace {

using sim::test::Draw;

constexpr int kPairsOfEach = 30;  // description

/// UNDERLAP_MONOTONY_STEPS=10000 looks further.
int num_steps() {
  const char* const asked = std::getenv("UNDERLAP_MONOTONY_STEPS");
  return asked == nullptr ? 400 : std::max(40, std::atoi(asked));
}

/// A machine with room for everything: what runs beside other work takes its time alone.
class Roomy final : public sim::TimeModel {
 public:
  explicit Roomy(std::unique_ptr<sim::TimeModel> machine) : machine_(std::move(machine)) {}

  std::int32_t gpus_per_node() const override { return machine_->gpus_per_node(); }
  sim::DeviceLimits limits() const override { return {.sms = 1 << 30, .copy_engines = 1 << 30}; }
  sim::HostCosts host() const override { return machine_->host(); }
  sim::KernelTime kernel(const Cost& cost) const override {
    return {.kind = sim::KernelTime::Kind::persistent, .alone_ns = machine_->kernel(cost).alone_ns, .sms = 1};
  }
  sim::KernelTime copy(std::int64_t bytes) const override {
    return {.kind = sim::KernelTime::Kind::copy, .alone_ns = machine_->copy(bytes).alone_ns};
  }
  sim::TransferTime transfers(std::span<const sim::TransferShape> group, std::span<const std::int32_t> members,
                              const CommunicatorHints& hints) const override {
    const sim::TransferTime time = machine_->transfers(group, members, hints);
    return {.alone_ns = time.alone_ns, .latency_ns = time.latency_ns};
  }

 private:
  std::unique_ptr<sim::TimeModel> machine_;
};

/// Of any product of techniques, as a configuration; some are refused.
std::string draw_config(Draw& draw, bool of_data_alone) {
  const auto either = [&](std::string yes, std::string no = "") { return draw.below(2) == 0 ? yes : no; };
  const auto size = [&](std::int64_t kinds) { return of_data_alone ? 1 : std::int64_t{1} << draw.below(kinds); };
  const std::int64_t tensor = size(3), context = size(2), pipeline = size(3),
                     data = (of_data_alone ? 2 : 1) << draw.below(4);
  const std::int64_t chunks = pipeline > 1 ? draw.from(1, 2) : 1;
  const std::int64_t hidden = std::int64_t{256} << draw.below(6);
  std::string yaml = fmt::format(
      "model: {{num_layers: {}, hidden_size: {}, ffn_hidden_size: {}, num_attention_heads: 8, num_query_groups: 4, "
      "vocab_size: 1024, seq_length: {}, sequence_parallel: {}, tensor_model_parallel_size: {}, "
      "context_parallel_size: {}, pipeline_model_parallel_size: {}, virtual_pipeline_model_parallel_size: {}, "
      "cp_comm_type: {}}}\n",
      pipeline * chunks, hidden, 4 * hidden, std::int64_t{256} << draw.below(7),
      tensor > 1 ? either("true", "false") : "false", tensor, context, pipeline,
      chunks > 1 ? fmt::format("{}", chunks) : "null", either("p2p", either("a2a", "all_gather")));
  yaml += fmt::format("data_parallel_size: {}\ntrain: {{micro_batch_size: 1, num_microbatches: {}}}\n", data,
                      pipeline * draw.from(1, 2));
  const auto knob = [&](const std::string& name) { yaml += either(name + either(": true\n", ": false\n")); };
  for (const char* const name :
       {"comm_overlap.overlap_grad_reduce", "comm_overlap.overlap_param_gather", "comm_overlap.tp_comm_overlap",
        "comm_overlap.batch_p2p_comm", "comm_overlap.overlap_p2p_comm", "comm_overlap.defer_embedding_wgrad_compute",
        "comm_overlap.overlap_param_gather_with_optimizer_step", "model.overlap_p2p_comm_warmup_flush",
        "extensions.cp_overlap", "extensions.tp_async_collectives", "extensions.bucket_every_stage",
        "extensions.release_by_event", "extensions.overlap_without_virtual_stages",
        "extensions.scatter_gather_tensors_in_pipeline", "model.share_embeddings_and_output_weights"})
    knob(name);
  yaml += either("comm_overlap.bucket_size: 500000\n");
  yaml += either("", either("mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed}\n"));
  yaml += either("", either("model.recompute_granularity: full\nmodel.recompute_method: uniform\n"
                            "model.recompute_num_layers: 1\n"));
  yaml += pipeline > 1 ? either("", either("extensions.pipeline_schedule: zb_h1\n")) : "";
  yaml += fmt::format("environment.cuda_device_max_connections: {}\n", either("1", either("8", "32")));
  yaml += fmt::format("run: {{backend: sim, gpus_per_node: {}}}\n", std::int64_t{1} << draw.below(4));
  return yaml;
}

/// What a step shows: its time, and what of the communication of each mode is exposed, over its simulated ranks.
struct Shown {
  std::int64_t step_ns = 0;
  std::map<std::string, std::int64_t> exposed_ns;
};

Shown play(const plan::Config& config, const sim::TimeModel& time) {
  const auto data = model::TextData::open({}, config.model.seq_length, 1);
  Simulation simulation(config, data, time);
  const Trace trace = simulation.play(0, 2);
  Shown shown;
  for (const Mark& mark : trace.marks) shown.step_ns = std::max(shown.step_ns, mark.time_ns);
  for (const analysis::Split& split : analysis::split_windows(trace, analysis::find_windows(trace).windows))
    for (const auto& [modes, ns] : split.exposed_ns_by_modes) shown.exposed_ns[std::string(modes)] += ns;
  return shown;
}

/// Two machines that differ in one figure, the slower one first.
struct Pair {
  std::string figure;
  std::array<sim::Hardware, 2> machines;

  /// `room`: as Roomy. `free_host`: enqueuing takes no time.
  std::array<Shown, 2> play(const plan::Config& config, bool room, bool free_host = false) const {
    std::array<Shown, 2> shown;
    for (std::size_t m = 0; m < machines.size(); ++m) {
      sim::Hardware hardware = machines[m];
      if (free_host) {
        sim::HostFigures& host = hardware.host;
        for (sim::Figure* const cost : {&host.kernel_launch_us, &host.collective_launch_us, &host.copy_launch_us,
                                        &host.event_record_us, &host.event_wait_us})
          cost->value = 0;
        host.schedule_call_us = host.synchronize_us = host.iteration_us = std::nullopt;
      }
      auto machine = sim::make_time_model(config, std::move(hardware));
      shown[m] = underlap::play(config, room ? *std::make_unique<Roomy>(std::move(machine)) : *machine);
    }
    return shown;
  }
};

/// Pairs over all descriptions that the program carries; `of_links`: that differ in what communication takes alone.
std::vector<Pair> draw_pairs(Draw& draw, bool of_links = false) {
  std::vector<Pair> pairs;
  for (const std::string& name : sim::hardware_names()) {
    const std::string yaml = sim::test::shipped_yaml(name);
    std::vector<sim::test::Figure> of_collectives, others;
    for (const sim::test::Figure& figure : sim::test::rates_and_latencies(yaml)) {
      const bool is_of_link = figure.name.find("nvlink") != std::string::npos ||
                              figure.name.find("network") != std::string::npos ||
                              figure.name.find("channel") != std::string::npos;
      if (figure.name.find("collectives") != std::string::npos)
        of_collectives.push_back(figure);
      else if (!of_links || is_of_link)
        others.push_back(figure);
    }
    for (int i = 0; i < kPairsOfEach; ++i) {
      const auto& figure = draw.of(draw.below(3) == 0 ? of_collectives : others);
      pairs.push_back({name + ": " + figure.name, sim::test::slower_and_faster(yaml, figure, draw)});
    }
  }
  return pairs;
}

/// The next drawn step that its plan does not refuse and the machines can run.
struct Drawn {
  std::string yaml;
  plan::Config config;
  const Pair* pair = nullptr;
};
Drawn draw_step(Draw& draw, const std::vector<Pair>& pairs, bool of_data_alone = false) {
  while (true) {
    const std::string yaml = draw_config(draw, of_data_alone);
    const plan::Matrix matrix = plan::parse(yaml, "drawn");
    const Pair& pair = draw.of(pairs);
    const bool in_fp8 = yaml.find("fp8") != std::string::npos;
    if (!matrix.errors.empty() || !matrix.cells.front().plan.not_run.empty()) continue;
    if (in_fp8 && !pair.machines[0].gpu.fp8_tflops) continue;
    return {yaml, matrix.cells.front().plan.config, &pair};
  }
}

TEST(Monotony, NoStepIsShorterOnASlowerMachineThatHasRoom) {
  Draw draw(1);
  const std::vector<Pair> pairs = draw_pairs(draw);
  int num_longer = 0;
  for (int i = 0; i < num_steps(); ++i) {
    const Drawn step = draw_step(draw, pairs);
    const auto [slower, faster] = step.pair->play(step.config, true);
    EXPECT_GE(slower.step_ns, faster.step_ns) << step.pair->figure << "\n" << step.yaml;
    num_longer += slower.step_ns > faster.step_ns ? 1 : 0;
  }
  EXPECT_GT(num_longer, num_steps() / 4) << "of most figures most steps know nothing";
}

// Where kernels and transfers share a device, a kernel that comes earlier may take what a more urgent one then waits
// for (Engine.AFasterKernelMayTakeTheDeviceFromAMoreUrgentOne). That costs part of one kernel here and there.
TEST(Monotony, StepsOnSharedDevicesAreShorterByNoMoreThanTheirOrder) {
  Draw draw(2);
  const std::vector<Pair> pairs = draw_pairs(draw);
  for (int i = 0; i < num_steps() / 2; ++i) {
    const Drawn step = draw_step(draw, pairs);
    const auto [slower, faster] = step.pair->play(step.config, false);
    EXPECT_GE(static_cast<double>(slower.step_ns), 0.98 * static_cast<double>(faster.step_ns))
        << step.pair->figure << "\n"
        << step.yaml;
  }
}

// With one mode, one stream of compute and a host that is never late, a step is what it computes and what is exposed.
// With more of them a slower link of one mode may hide the other's, and slower compute hides more of either.
TEST(Monotony, NoDataParallelCommunicationIsLessExposedOnSlowerLinks) {
  Draw draw(3);
  const std::vector<Pair> pairs = draw_pairs(draw, true);
  int num_more = 0;
  for (int i = 0; i < num_steps() / 4; ++i) {
    const Drawn step = draw_step(draw, pairs, true);
    auto [slower, faster] = step.pair->play(step.config, true, true);
    EXPECT_GE(slower.exposed_ns["dp"], faster.exposed_ns["dp"]) << step.pair->figure << "\n" << step.yaml;
    num_more += slower.exposed_ns["dp"] > faster.exposed_ns["dp"] ? 1 : 0;
  }
  EXPECT_GT(num_more, num_steps() / 100);
}

}  // namespace
}  // namespace underlap
