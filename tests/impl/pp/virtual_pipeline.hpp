// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/config.hpp"
#include "tests/impl/pp/toy_stage.hpp"
#include "tests/impl/virtual_time.hpp"

namespace underlap::pp {

/// A pipeline of toy stages. Durations in nanoseconds, each alone, of one chunk.
struct PipelineCase {
  std::int32_t num_stages = 2;
  std::int32_t num_chunks = 1;
  std::int64_t num_microbatches = 2;
  std::int64_t group_size = 0;  ///< 0: as many as there are stages
  plan::PipelineConfig pipeline{.batch_p2p_comm = false};
  bool release_by_event = false;
  bool interleaves_one_chunk = false;
  std::optional<std::string> schedule = {};  ///< extensions.pipeline_schedule
  std::int32_t num_data = 1;                 ///< pipelines, whose equal stages reduce their gradients
  std::int32_t num_tensor = 1;               ///< ranks of a stage that hold the same; above 1 each sends a part of it
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t wgrad_ns = 0;    ///< the part of it that a schedule can put off
  std::int64_t message_ns = 0;  ///< of a whole activation
  std::int64_t gather_ns = 0;   ///< of parts
  std::int32_t connections = 0;

  plan::Config config() const {
    plan::Config config;
    config.parallel.pipeline_model_parallel_size = num_stages;
    config.parallel.virtual_pipeline_model_parallel_size = num_chunks;
    config.parallel.interleaves_one_chunk = interleaves_one_chunk;
    config.parallel.data_parallel_size = num_data;
    config.parallel.tensor_model_parallel_size = num_tensor;
    config.extensions.scatter_gather_tensors_in_pipeline = num_tensor > 1;
    config.train.num_microbatches = num_microbatches;
    config.pipeline = pipeline;
    config.pipeline.microbatch_group_size_per_vp_stage = group_size > 0 ? group_size : num_stages;
    config.extensions.release_by_event = release_by_event;
    config.extensions.pipeline_schedule = schedule;
    config.extensions.overlap_without_virtual_stages = !config.parallel.is_interleaved() && pipeline.overlap_p2p_comm;
    return config;
  }
};

/// The times of a PipelineCase. Nothing is shared out.
class PipelineTimes final : public testing_support::UnsharedTimes {
 public:
  explicit PipelineTimes(const PipelineCase& c)
      : message_ns_(static_cast<double>(c.message_ns) / c.num_tensor), gather_ns_(static_cast<double>(c.gather_ns)) {}

  sim::KernelTime kernel(const Cost& cost) const override {
    return {.kind = sim::KernelTime::Kind::persistent, .alone_ns = cost.flops, .sms = 1};
  }
  sim::TransferTime transfers(std::span<const sim::TransferShape> group, std::span<const std::int32_t>,
                              const CommunicatorHints&) const override {
    const Collective collective = group.front().collective;
    const bool is_message = collective == Collective::send || collective == Collective::receive;
    return {.alone_ns = is_message ? message_ns_ : collective == Collective::all_gather ? gather_ns_ : 0};
  }

 private:
  double message_ns_;
  double gather_ns_;
};

/// Records and plays a PipelineCase. Every step ends with all stages together, as an optimizer's does.
class VirtualPipeline {
 public:
  static constexpr std::int64_t kRows = 2, kCols = 2;
  static constexpr const char* kEnd = "end_of_step";  ///< purpose and stream of what brings the stages together

  /// The program of one rank, and where its results lie. Rank = (stage * data-parallel size + data index) *
  /// tensor-parallel size + tensor index.
  struct Rank {
    Program program;
    std::vector<View> grads;
    View losses;
  };

  explicit VirtualPipeline(const PipelineCase& c) : case_(c), config_(c.config()) {}

  std::vector<Rank> record(std::int32_t num_steps, Detail detail = Detail::uses) const {
    std::vector<Rank> ranks;
    for (std::int32_t stage = 0; stage < case_.num_stages; ++stage)
      for (std::int32_t data = 0; data < case_.num_data; ++data)
        for (std::int32_t tensor = 0; tensor < case_.num_tensor; ++tensor)
          ranks.push_back(record_rank(stage, data, tensor, num_steps, detail));
    return ranks;
  }
  std::vector<Program> programs(std::int32_t num_steps) const {
    std::vector<Program> all;
    for (Rank& rank : record(num_steps)) all.push_back(std::move(rank.program));
    return all;
  }

  /// Two steps, the first of which settles.
  Trace play() const { return testing_support::play(programs(2), PipelineTimes(case_), case_.connections); }

 private:
  Rank record_rank(std::int32_t stage_index, std::int32_t data, std::int32_t tensor, std::int32_t num_steps,
                   Detail detail) const {
    RecordingDevice device(detail);
    const Stream compute = device.create_stream("compute");
    const std::int32_t n = case_.num_tensor, of_stage = case_.num_data * n;
    const Group stages = testing_support::group_of(case_.num_stages, stage_index, data * n + tensor, of_stage);
    const Group peers = testing_support::group_of(case_.num_data, data, stage_index * of_stage + tensor, n);
    const Context context{.device = &device,
                          .config = &config_,
                          .group = stages,
                          .compute = compute,
                          .tensor = testing_support::group_of(n, tensor, stage_index * of_stage + data * n, 1),
                          .rows = kRows,
                          .cols = kCols};
    const std::unique_ptr<Pipeline> pipeline = make_pipeline(context);
    const Communicator together = device.declare(kEnd, stages);
    const std::optional<Communicator> reduction =
        case_.num_data > 1 ? std::optional(device.declare("dp", peers)) : std::nullopt;
    ToyStage stage(context, {case_.forward_ns, case_.backward_ns, case_.wgrad_ns});
    const View token = flat(device.allocate("token", DataType::f32, 1));
    device.begin();
    for (std::int32_t step = 0; step < num_steps; ++step) {
      stage.begin_step(step);
      pipeline->run(stage, step);
      if (reduction) testing_support::reduce_over(*reduction, device, compute, results_of(stage), step);
      finish(device, compute, together, token, step);
    }
    return {device.take_program(), stage.grads(), stage.losses()};
  }

  static std::vector<View> results_of(const ToyStage& stage) {
    std::vector<View> results = stage.grads();
    if (stage.losses().tensor.id != 0) results.push_back(stage.losses());
    return results;
  }

  static void finish(Device& device, Stream compute, const Communicator& together, const View& token,
                     std::int32_t step) {
    const auto nothing = [](const Arguments& a) { a[0].as<float>()[0] = 0; };
    device.launch(compute, {.purpose = intern(kEnd), .step = step},
                  Operation(intern(kEnd), nothing, {}, {{token, Access::out}}));
    device.wait(together.stream, device.record(compute));
    const Transfer sum{.collective = Collective::all_reduce, .input = token, .output = token};
    device.communicate(
        together, {.kind = Kind::communication, .mode = Mode::other, .purpose = intern(kEnd), .step = step}, {&sum, 1});
    device.wait(compute, device.record(together.stream));
    device.mark(compute, 0, step);
  }

  PipelineCase case_;
  plan::Config config_;
};

}  // namespace underlap::pp
