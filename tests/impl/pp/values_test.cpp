// SPDX-License-Identifier: Apache-2.0
// What a pipeline computes is what its parts compute one after the other.
#include "tests/impl/device/ranks.hpp"
#include "tests/impl/pp/techniques.hpp"

namespace underlap::pp {
namespace {

constexpr std::int32_t kNumSteps = 3;
constexpr std::int64_t kElements = VirtualPipeline::kRows * VirtualPipeline::kCols;

struct Results {
  std::vector<std::vector<float>> grads;  // by part of the model
  std::vector<float> losses;              // of all microbatches

  friend bool operator==(const Results&, const Results&) = default;
};

// Of the last step.
Results unpipelined(const PipelineCase& c) {
  const std::int64_t num_parts = c.num_stages * c.num_chunks;
  Results results{std::vector(static_cast<std::size_t>(num_parts), std::vector<float>(kElements)), {}};
  for (std::int64_t i = 0; i < c.num_microbatches * kElements; ++i) {
    std::vector<int> inputs{toy::sample(kNumSteps - 1, i)};
    for (std::int64_t part = 0; part < num_parts; ++part) inputs.push_back(toy::output(inputs.back(), part));
    int d = inputs.back();
    results.losses.push_back(static_cast<float>(d));
    for (std::int64_t part = num_parts - 1; part >= 0; --part) {
      const int x = inputs[static_cast<std::size_t>(part)];
      results.grads[static_cast<std::size_t>(part)][static_cast<std::size_t>(i % kElements)] +=
          static_cast<float>(toy::grad(d, x));
      d = toy::d_input(d, x, toy::saved(x));
    }
  }
  return results;
}

// Puts what a rank holds where it belongs. `download(view, bytes)`.
template <class Download>
void collect(const PipelineCase& c, std::int32_t stage, const std::vector<View>& grads, const View& losses,
             Download download, Results& results) {
  results.grads.resize(static_cast<std::size_t>(c.num_stages * c.num_chunks));
  for (std::size_t chunk = 0; chunk < grads.size(); ++chunk) {
    auto& part = results.grads[chunk * static_cast<std::size_t>(c.num_stages) + static_cast<std::size_t>(stage)];
    part.resize(kElements);
    download(grads[chunk], std::as_writable_bytes(std::span(part)));
  }
  if (losses.tensor.id == 0) return;
  std::vector<bf16> values(static_cast<std::size_t>(losses.elements()));
  download(losses, std::as_writable_bytes(std::span(values)));
  results.losses.clear();
  for (const bf16 value : values) results.losses.push_back(static_cast<float>(value));
}

// In virtual time, where two uses at once that conflict give NaN.
Results played(const PipelineCase& c, std::uint64_t seed) {
  std::vector<VirtualPipeline::Rank> ranks = VirtualPipeline(c).record(kNumSteps, Detail::operations);
  const PipelineTimes times(c);
  sim::VirtualMemory memory(ranks.size());
  std::vector<sim::RankQueues::Source> sources;
  for (VirtualPipeline::Rank& rank : ranks) sources.push_back(testing_support::source_of(rank.program));
  sim::Engine engine(times, {.jitter = 1, .seed = seed, .records_slices = false, .memory = &memory},
                     std::move(sources));
  engine.play();
  EXPECT_EQ(memory.num_conflicts(), 0);
  Results results;
  for (std::int32_t stage = 0; stage < c.num_stages; ++stage) {
    const std::int32_t last = (stage + 1) * c.num_tensor - 1;
    const auto download = [&](const View& view, std::span<std::byte> bytes) { memory.download(last, view, bytes); };
    const VirtualPipeline::Rank& rank = ranks[static_cast<std::size_t>(last)];
    collect(c, stage, rank.grads, rank.losses, download, results);
  }
  return results;
}

class PipelineValues : public testing::TestWithParam<TechniqueCase> {
 protected:
  PipelineCase pipeline(std::int32_t num_stages) const {
    PipelineCase c = GetParam().of(num_stages, 2 * num_stages);
    c.forward_ns = 100;
    c.backward_ns = 200;
    c.wgrad_ns = 80;
    return c;
  }
};

INSTANTIATE_TEST_SUITE_P(Techniques, PipelineValues, testing::ValuesIn(technique_cases()), CaseName());

TEST_P(PipelineValues, AreThoseOfOneStageAfterTheOtherWhateverATransferTakes) {
  for (const std::int32_t num_stages : {2, 4})
    for (const std::int64_t message_ns : {10, 150, 1000}) {
      if (num_stages < GetParam().fewest_stages) continue;
      PipelineCase c = pipeline(num_stages);
      c.message_ns = message_ns;
      EXPECT_EQ(played(c, 1), unpipelined(c)) << num_stages << " stages, " << message_ns << " ns";
    }
}

TEST_P(PipelineValues, OfLongGroupsOfMicrobatchesToo) {
  if (!GetParam().is_interleaved) return;
  PipelineCase c = pipeline(3);
  c.num_microbatches = 9;
  c.message_ns = 50;
  for (const std::int64_t group_size : {4, 5, 6, 9}) {
    if (c.num_microbatches % group_size != 0 && c.num_microbatches % group_size < 3) continue;
    c.group_size = group_size;
    EXPECT_EQ(played(c, 2), unpipelined(c)) << "groups of " << group_size;
  }
}

// What every rank of a stage holds, by rank.
std::vector<Results> run_on_host(const PipelineCase& c) {
  const plan::Config config = c.config();
  const std::int32_t n = c.num_tensor;
  std::vector<Results> of_rank(static_cast<std::size_t>(c.num_stages * n));
  host::Ranks(c.num_stages * n).run([&](Device& device, const Group& all) {
    const std::int32_t stage_index = all.my_index / n, tensor = all.my_index % n;
    Group stages{{}, stage_index}, peers{{}, tensor};
    for (std::int32_t s = 0; s < c.num_stages; ++s) stages.members.push_back(s * n + tensor);
    for (std::int32_t t = 0; t < n; ++t) peers.members.push_back(stage_index * n + t);
    const Context context{.device = &device,
                          .config = &config,
                          .group = stages,
                          .compute = device.create_stream("compute"),
                          .tensor = peers,
                          .rows = VirtualPipeline::kRows,
                          .cols = VirtualPipeline::kCols};
    const std::unique_ptr<Pipeline> made = make_pipeline(context);
    ToyStage stage(context, {});
    device.begin();
    for (std::int32_t step = 0; step < kNumSteps; ++step) {
      stage.begin_step(step);
      made->run(stage, step);
    }
    device.synchronize();
    const auto download = [&](const View& view, std::span<std::byte> bytes) { device.download(view, bytes); };
    collect(c, stage_index, stage.grads(), stage.losses(), download, of_rank[static_cast<std::size_t>(all.my_index)]);
  });
  return of_rank;
}

TEST_P(PipelineValues, AreTheSameOnTheHost) {
  const PipelineCase c = pipeline(std::max(2, GetParam().fewest_stages));
  const std::vector<Results> of_rank = run_on_host(c);
  for (std::int32_t tensor = 0; tensor < c.num_tensor; ++tensor) {
    const auto of_stage = [&](std::size_t stage) {
      return of_rank[stage * static_cast<std::size_t>(c.num_tensor) + static_cast<std::size_t>(tensor)];
    };
    const auto num_stages = static_cast<std::size_t>(c.num_stages);
    Results all = of_stage(num_stages - 1);
    for (std::size_t part = 0; part < all.grads.size(); ++part)
      all.grads[part] = of_stage(part % num_stages).grads[part];
    EXPECT_EQ(all, unpipelined(c)) << "tensor-parallel rank " << tensor;
  }
}

TEST(SingleStageValues, AreThoseOfItsMicrobatches) {
  const PipelineCase c{.num_stages = 1, .num_microbatches = 3};
  EXPECT_EQ(played(c, 1), unpipelined(c));
}

}  // namespace
}  // namespace underlap::pp
