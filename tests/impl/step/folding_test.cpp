// SPDX-License-Identifier: Apache-2.0
// Of ranks that do the same one is simulated. What it shows is, to the nanosecond, what it shows where all are; and
// ranks fold only where they record the same programs.
#include <fmt/format.h>

#include <map>

#include "impl/device/recording_device.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/step/groups.hpp"
#include "impl/step/simulation.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/windows.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap {
namespace {

struct FoldingCase {
  std::string name;
  std::string yaml;  // of the sections beside run
  std::int32_t gpus_per_node = 8;
  std::size_t num_simulated = 1;
};
void PrintTo(const FoldingCase& c, std::ostream* out) { *out << c.name; }

constexpr const char* kModel =
    "preset: tiny, num_layers: 4, num_attention_heads: 8, num_query_groups: 4, hidden_size: 256, ffn_hidden_size: 512";

plan::Config config_of(const FoldingCase& c, const std::string& run = "") {
  const plan::Plan plan =
      plan::plan_of(fmt::format("{}\nrun: {{backend: sim, gpus_per_node: {}{}}}\n", c.yaml, c.gpus_per_node, run));
  EXPECT_THAT(plan::lines_of(plan.not_run), IsEmpty());
  return plan.config;
}

std::string yaml_of(const std::string& model, std::int32_t replicas, std::int32_t microbatches,
                    const std::string& rest = "") {
  return fmt::format(
      "model: {{{}{}{}}}\ndata_parallel_size: {}\ntrain: {{micro_batch_size: 1, num_microbatches: {}}}\n{}", kModel,
      model.empty() ? "" : ", ", model, replicas, microbatches, rest);
}

std::vector<FoldingCase> folding_cases() {
  const std::string kOverlaps = "ddp: {overlap_grad_reduce: true, overlap_param_gather: true, bucket_size: 100000}\n";
  const std::string kFp8 = "mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed, fp8_param_gather: true}\n";
  const std::string kInstances = "ddp.num_distributed_optimizer_instances: 2\n";
  const std::string kTp = "tensor_model_parallel_size: 4, sequence_parallel: true";
  const std::string kPp = "pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2";
  return {
      {"Data", yaml_of("", 4, 2, kOverlaps), 8, 1},
      {"DataOverNodes", yaml_of("", 8, 1, kOverlaps), 4, 1},
      {"ClippedGradients", yaml_of("", 4, 1, kOverlaps + "optimizer: {clip_grad: 1.0}\n"), 2, 1},
      {"Instances", yaml_of("", 4, 2, kOverlaps + kInstances), 8, 1},
      {"InstancesOverNodes", yaml_of("", 8, 1, kOverlaps + kInstances + "optimizer: {clip_grad: 1.0}\n"), 4, 1},
      {"InstancesOfContextGroups", yaml_of("context_parallel_size: 2", 4, 1, kOverlaps + kInstances), 8, 2},
      {"InstancesWithinContextGroups",
       yaml_of("context_parallel_size: 2", 2, 1, kOverlaps + "ddp.num_distributed_optimizer_instances: 4\n"), 4, 2},
      {"InstancesAcrossContextGroups", yaml_of("context_parallel_size: 2", 3, 1, kOverlaps + kInstances), 8, 6},
      {"Tensor", yaml_of(kTp, 1, 2), 8, 1},
      {"TensorOverlapped", yaml_of(kTp, 2, 2, kOverlaps + "comm_overlap: {tp_comm_overlap: true}\n"), 8, 1},
      {"AggregatedRing",
       yaml_of(
           kTp, 2, 2,
           kOverlaps + "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: {fc2_dgrad: {aggregate: true}}}\n"),
       8, 1},
      {"AggregatedRingOfEightBesideAnother",
       yaml_of("tensor_model_parallel_size: 8, sequence_parallel: true", 1, 2,
               "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: {qkv_fprop: {aggregate: true}, fc2_dgrad: "
               "{aggregate: true}, fc1_fprop: {method: ring_exchange}}}\n"),
       8, 1},
      {"AggregatedRingOfTwo",
       yaml_of("tensor_model_parallel_size: 2, sequence_parallel: true", 2, 2,
               "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: {fc2_dgrad: {aggregate: true}}}\n"),
       8, 1},
      {"TensorClipped", yaml_of(kTp, 2, 1, "optimizer: {clip_grad: 1.0}\n"), 4, 1},
      {"TensorWithSharedGroups", yaml_of("tensor_model_parallel_size: 8, sequence_parallel: true", 1, 2), 8, 1},
      {"TensorOnWholeActivations",
       yaml_of("tensor_model_parallel_size: 4", 2, 2, kOverlaps + "optimizer: {clip_grad: 1.0}\n"), 8, 1},
      {"Context", yaml_of("context_parallel_size: 2", 2, 2, kOverlaps), 2, 2},
      {"Pipeline", yaml_of("pipeline_model_parallel_size: 2", 2, 4, kOverlaps), 2, 2},
      {"VirtualPipeline", yaml_of(kPp, 2, 4, kOverlaps), 4, 2},
      {"PipelineInOneNode", yaml_of(kTp + ", " + kPp, 1, 4, "comm_overlap: {tp_comm_overlap: true}\n"), 8, 2},
      {"TiedEmbedding", yaml_of("pipeline_model_parallel_size: 2, share_embeddings_and_output_weights: true", 2, 2), 2,
       2},
      {"AllModes",
       yaml_of(kTp + ", " + kPp + ", context_parallel_size: 2", 2, 4,
               kOverlaps + "comm_overlap: {tp_comm_overlap: true}\noptimizer: {clip_grad: 1.0}\n"),
       8, 4},
      {"AllModesWithoutOverlap",
       yaml_of("tensor_model_parallel_size: 2, sequence_parallel: true, " + kPp + ", context_parallel_size: 2", 2, 4),
       4, 4},
      {"TensorRanksAloneWhereNodesSplitPipelines",
       yaml_of("tensor_model_parallel_size: 2, sequence_parallel: true, pipeline_model_parallel_size: 2", 3, 2), 8, 6},
      {"NobodyWhereNodesSplitStages", yaml_of("pipeline_model_parallel_size: 2", 3, 2), 4, 6},
      {"Fp8Parameters", yaml_of("", 4, 1, kFp8), 8, 1},
  };
}

class Folded : public testing::TestWithParam<FoldingCase> {};
INSTANTIATE_TEST_SUITE_P(Steps, Folded, testing::ValuesIn(folding_cases()), CaseName());

struct Simulated {
  Folding folding;
  Trace trace;
};

Simulated play(const plan::Config& config) {
  const auto data = model::TextData::open({}, config.model.seq_length, 1);
  const auto time = sim::make_time_model(config);
  Simulation simulation(config, data, *time);
  Simulated simulated{simulation.folding(), simulation.play(0, 3)};
  EXPECT_TRUE(simulation.take_losses().empty());
  return simulated;
}

// Everything that a rank's trace says.
std::vector<std::string> story_of(const Trace& trace, std::int32_t rank) {
  std::vector<std::string> story;
  for (const Mark& mark : trace.marks)
    if (mark.rank == rank) story.push_back(fmt::format("mark {} at {}", mark.step, mark.time_ns));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Track& track = trace.tracks[trace.track(i)];
    if (track.rank != rank) continue;
    const Tag& tag = trace.tag(i);
    std::string line = fmt::format("{} {} {} of {} step {} layer {} microbatch {}: {} for {}", track.name, track.stream,
                                   name_of(trace.name(i)), name_of(tag.purpose), tag.step, tag.layer, tag.microbatch,
                                   trace.start_ns()[i], trace.duration_ns()[i]);
    if (const CommunicationRecord* record = trace.communication(i)) {
      line += fmt::format(", all there at {}, {} bytes, group of {}", record->last_arrival_ns, record->bytes_on_wire(),
                          trace.groups[record->group].ranks.size());
      for (const auto& t : record->transfers) line += fmt::format(", peer {}", t.peer);
    }
    story.push_back(line);
  }
  return story;
}

// The first line that differs is enough to read.
void expect_equal(const std::vector<std::string>& mine, const std::vector<std::string>& theirs, std::int32_t rank) {
  ASSERT_EQ(mine.size(), theirs.size()) << "rank " << rank;
  for (std::size_t i = 0; i < mine.size(); ++i) ASSERT_EQ(mine[i], theirs[i]) << "rank " << rank << " line " << i;
}

std::vector<std::string> splits_of(const Trace& trace, std::int32_t rank) {
  const analysis::WindowList list = analysis::find_windows(trace);
  const std::vector<analysis::Split> splits = analysis::split_windows(trace, list.windows);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (list.windows[i].rank != rank) continue;
    const analysis::Split& s = splits[i];
    lines.push_back(fmt::format("step {}: {} = {} + {} + {} + {} + {}", list.windows[i].step, s.window_ns,
                                s.compute_only_ns, s.hidden_ns, s.exposed_ns(), s.copy_only_ns, s.idle_ns));
    for (const auto& [modes, ns] : s.exposed_ns_by_modes) lines.push_back(fmt::format("{} {}", modes, ns));
  }
  return lines;
}

TEST_P(Folded, SimulatedRanksShowWhatTheyShowWhereAllAreSimulated) {
  const Simulated some = play(config_of(GetParam()));
  const Simulated all = play(config_of(GetParam(), ", fold: false"));
  ASSERT_EQ(some.folding.simulated.size(), GetParam().num_simulated) << some.folding.reason;
  for (const std::int32_t rank : some.folding.simulated) {
    EXPECT_EQ(splits_of(some.trace, rank), splits_of(all.trace, rank)) << "rank " << rank;
    expect_equal(story_of(some.trace, rank), story_of(all.trace, rank), rank);
  }
}

// A command without what says whose it is: places in tensors, and of a peer all but the distance to it; of one that it
// swaps with the shorter way there.
std::string text_of(const Program& program, const ProgramCommand& c) {
  const bool waits = c.type == ProgramCommand::Type::wait || c.type == ProgramCommand::Type::throttle;
  const std::uint64_t before = waits ? program.first_positions[c.awaited_stream] : c.awaited_position;
  const std::uint64_t awaited = std::max(c.awaited_position, before) - before;  // counted from the first step
  const Cost cost = program.cost(c);
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(c.type), c.stream, name_of(c.name),
                  name_of(c.tag.purpose), c.tag.layer, c.tag.microbatch, c.tag.bucket, c.tag.chunk, c.tag.step,
                  c.awaited_stream, awaited, c.bytes, cost.flops, cost.bytes_read, cost.bytes_written);
  const std::span<const Transfer> transfers = program.transfers(c);
  for (const Transfer& t : transfers) {
    const Group& group = program.communicators[c.communicator].group;
    std::int32_t distance = t.peer < 0 ? -1 : (t.peer - group.my_index + group.size()) % group.size();
    if (t.peer >= 0 && std::ranges::count(transfers, t.peer, &Transfer::peer) == 2)
      distance = std::min(distance, group.size() - distance);
    text += fmt::format(" {} {} over {} of {}", to_string(t.collective), message_bytes(t), distance, group.size());
  }
  return text;
}

// Two steps of a rank, as it records them.
std::vector<std::string> steps_of(const plan::Config& config, const model::TextData& data, std::int32_t rank) {
  RecordingDevice device(Detail::costs);
  Trainer trainer(device, config, parallel_groups(config, rank), data);
  device.take_program();
  for (int step = 0; step < 2; ++step) trainer.step(0);
  std::vector<std::string> lines;
  for (const ProgramCommand& c : device.program().commands) lines.push_back(text_of(device.program(), c));
  return lines;
}

TEST_P(Folded, RanksRecordWhatTheOneSimulatedForThemRecords) {
  const plan::Config config = config_of(GetParam());
  const auto data = model::TextData::open({}, config.model.seq_length, 1);
  const Folding folding = fold_ranks(config, GetParam().gpus_per_node);
  std::map<std::int32_t, std::int32_t> num_alike;
  for (std::int32_t rank = 0; rank < config.parallel.world_size(); ++rank) {
    const std::int32_t simulated = folding.simulated_for(config.parallel, rank);
    ++num_alike[simulated];
    expect_equal(steps_of(config, data, rank), steps_of(config, data, simulated), rank);
  }
  EXPECT_EQ(num_alike.size(), folding.simulated.size());
  for (const auto& [simulated, count] : num_alike) EXPECT_EQ(count, num_alike.begin()->second);
}

TEST(Folding, ContextParallelRanksRecordOtherPrograms) {
  const plan::Config config = config_of({"", yaml_of("context_parallel_size: 2", 1, 1)});
  const auto data = model::TextData::open({}, config.model.seq_length, 1);
  EXPECT_NE(steps_of(config, data, 0), steps_of(config, data, 1));
  EXPECT_EQ(fold_ranks(config, 8).simulated, (std::vector<std::int32_t>{0, 1}));
}

TEST(Folding, ValuesAndJitterNeedEveryRank) {
  plan::Config config = config_of({"", yaml_of("", 4, 1)});
  EXPECT_EQ(fold_ranks(config, 8).simulated.size(), 1U);
  const auto is_whole = [&](auto&& change) {
    plan::Config changed = config;
    change(changed.run);
    return fold_ranks(changed, 8).simulated.size() == 4;
  };
  EXPECT_TRUE(is_whole([](plan::RunConfig& run) { run.fold = false; }));
  EXPECT_TRUE(is_whole([](plan::RunConfig& run) { run.numerics = true; }));
  EXPECT_TRUE(is_whole([](plan::RunConfig& run) { run.jitter_pct = 1; }));
}

TEST(Folding, LetsOneContextParallelRankStandForAllOnlyInEstimates) {
  const plan::Config config = config_of({"", yaml_of("tensor_model_parallel_size: 2, context_parallel_size: 2", 2, 1)});
  EXPECT_EQ(fold_ranks(config, 8).simulated, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(fold_nearly_alike(config, 8).simulated, std::vector<std::int32_t>{0});
  EXPECT_EQ(fold_nearly_alike(config, 2).simulated, (std::vector<std::int32_t>{0})) << "each on a node of its own";
  plan::Config whole = config;
  whole.run.fold = false;
  EXPECT_EQ(fold_nearly_alike(whole, 8).simulated.size(), 8U);
}

TEST(Folding, PlaysSixteenOf16384) {
  plan::Config config;
  config.parallel.tensor_model_parallel_size = 8;
  config.parallel.pipeline_model_parallel_size = 16;
  config.parallel.data_parallel_size = 128;
  const Folding folding = fold_ranks(config, 8);
  ASSERT_EQ(folding.simulated.size(), 16U);
  for (std::int32_t stage = 0; stage < 16; ++stage)
    EXPECT_EQ(folding.simulated[static_cast<std::size_t>(stage)], stage * 1024);
  EXPECT_EQ(folding.simulated_for(config.parallel, 1023), 0);
}

// Where each rank's groups are written out rank by rank, this does not end.
TEST(Folding, PlaysOneOfAMillion) {
  plan::Config config;
  config.parallel.data_parallel_size = 1 << 20;
  EXPECT_THAT(fold_ranks(config, 8).simulated, ElementsAre(0));
}

}  // namespace
}  // namespace underlap
