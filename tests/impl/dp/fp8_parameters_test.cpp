// SPDX-License-Identifier: Apache-2.0
// Parameters that are stored and gathered in fp8: where they lie, what is sent as one, how many bytes, and their
// values.
#include "impl/dp/fp8_parameters.hpp"
#include "impl/plan/config.hpp"

#include <cmath>

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/fp8.hpp"
#include "tests/impl/device/ranks.hpp"
#include "tests/impl/dp/schedule_text.hpp"

namespace underlap::dp {
namespace {

/// Embedding, norm and head around two fp8 weights and one that stays bf16, in the order of the forward pass.
std::vector<plan::Parameter> small_model(bool with_fp8) {
  return {{.name = "embedding", .rows = 4, .cols = 64},
          {.name = "first", .rows = 2, .cols = 64},
          {.name = "middle.qkv", .rows = 3, .cols = 80, .is_fp8 = with_fp8},
          {.name = "middle.norm", .rows = 1, .cols = 80},
          {.name = "middle.fc1", .rows = 5, .cols = 80, .is_fp8 = with_fp8},
          {.name = "head", .rows = 4, .cols = 64}};
}

plan::BucketLayout layout_of(bool with_fp8, std::int32_t ranks, plan::BucketOptions options = {.bucket_size = 100}) {
  options.num_shards = ranks;
  return lay_out(small_model(with_fp8), options);
}

TEST(Fp8Layout, PutsFp8FirstAndJoinsTheOthersToTheStartOfTheModel) {
  const plan::BucketLayout layout = layout_of(true, 2);
  // fc1 | qkv | head | norm and first | embedding, each a multiple of 128.
  EXPECT_EQ(layout.offset_of, (std::vector<std::int64_t>{1280, 1152, 512, 1024, 0, 768}));
  EXPECT_EQ(layout.fp8_elements, 768);
  EXPECT_EQ(layout.elements, 1536);
  EXPECT_THAT(layout.groups, ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3, 4)));
  EXPECT_THAT(layout.group_of, ElementsAre(1, 1, 1, 1, 0, 1));
}

TEST(Fp8Layout, MayKeepEveryBucketAGroupAndDoesSoWithoutFp8) {
  EXPECT_EQ(layout_of(true, 2, {.bucket_size = 100, .one_bucket_a_group = true}).num_groups(), 5);
  const plan::BucketLayout plain = layout_of(false, 2);
  EXPECT_EQ(plain.num_groups(), plain.num_buckets());
  EXPECT_EQ(plain.fp8_elements, 0);
}

/// Buffers of the small model on `device`.
Buffers buffers_of(Device& device, const Group& group, bool with_fp8) {
  Buffers buffers;
  buffers.parameters = small_model(with_fp8);
  buffers.layout = layout_of(with_fp8, group.size());
  buffers.group = group;
  buffers.params = device.allocate("params", DataType::bf16, buffers.layout.elements - buffers.layout.fp8_elements);
  allocate_fp8(device, buffers);
  buffers.grads = device.allocate("grads", DataType::f32, buffers.layout.elements);
  return buffers;
}

/// With one communicator for both kinds of collectives.
Context context_of(Device& device, const Buffers& buffers, const plan::Config& config) {
  Context context;
  context.device = &device;
  context.buffers = &buffers;
  context.config = &config;
  context.compute = device.create_stream("compute");
  context.reduce = context.gather = device.declare("dp", buffers.group);
  return context;
}

/// What rank 1 of 2 tells its device in one step.
class Fp8Schedule : public testing::Test {
 protected:
  Program record(bool with_fp8, bool overlaps = true) {
    config_.ddp.overlap_grad_reduce = config_.ddp.overlap_param_gather = overlaps;
    config_.ddp.average_in_collective = true;
    RecordingDevice device;
    const Buffers buffers = buffers_of(device, {.members = {0, 1}, .my_index = 1}, with_fp8);
    const Context context = context_of(device, buffers, config_);
    const auto gather = make_param_gather(context);
    const auto reduce = make_grad_reduce(context);
    const auto note = [&](std::string_view what, std::int32_t p) {
      device.launch(context.compute, {.purpose = intern(what)}, kernels::fill(buffers.main_grad(p), 0));
    };
    gather->begin_step(0);
    reduce->begin_step(0);
    const auto n = static_cast<std::int32_t>(buffers.parameters.size());
    for (std::int32_t p = 0; p < n; ++p) {
      gather->before_use({&p, 1});
      note("forward", p);
    }
    for (std::int32_t p = n; p-- > 0;) {
      note("wgrad", p);
      reduce->after_wgrad({&p, 1});
    }
    reduce->finish();
    const Tensor main = device.allocate("main", DataType::f32, buffers.layout.elements);
    Fp8Parameters fp8(context);
    fp8.update({.kind = Kind::compute}, [&](std::int32_t b) { return buffers.shard(main, b); });
    return device.take_program();
  }

  static std::int64_t bytes_on_wire_of(const Program& program, std::string_view purpose) {
    std::int64_t sum = 0;
    for (const ProgramCommand& command : program.commands)
      if (command.tag.purpose == intern(purpose))
        for (const Transfer& t : program.transfers(command)) sum += bytes_on_wire(t, 2);
    return sum;
  }

  plan::Config config_;
};

TEST_F(Fp8Schedule, GathersAndReducesWhatIsNotFp8WithTheStartOfTheModel) {
  const std::vector<std::string> log = schedule_text(record(true));
  std::vector<std::string> sent;
  for (const std::string& line : log)
    if (line.starts_with("dp: ")) sent.push_back(line);
  EXPECT_THAT(
      sent, ElementsAre("dp: param_all_gather 640+128 128+128 384+128 640+128",  //
                        "dp: param_all_gather 256+256",                          //
                        "dp: grad_reduce_scatter 0+512",                         //
                        "dp: grad_reduce_scatter 512+256 768+256 1024+256 1280+256", "dp: param_amax_all_reduce 0+2"));
}

TEST_F(Fp8Schedule, Fp8HalvesTheBytesOfFp8WeightsOnTheWireAndOnlyThose) {
  for (const bool overlaps : {true, false}) {
    const Program fp8 = record(true, overlaps), bf16 = record(false, overlaps);
    const plan::BucketLayout layout = layout_of(true, 2);
    const std::int64_t others = layout.elements - layout.fp8_elements;
    EXPECT_EQ(bytes_on_wire_of(fp8, "param_all_gather"), (layout.fp8_elements + 2 * others) / 2);
    EXPECT_EQ(bytes_on_wire_of(fp8, "grad_reduce_scatter"), 4 * layout.elements / 2);
    EXPECT_EQ(bytes_on_wire_of(bf16, "param_all_gather"), 2 * layout_of(false, 2).elements / 2);
    EXPECT_EQ(bytes_on_wire_of(bf16, "grad_reduce_scatter"), 4 * layout_of(false, 2).elements / 2);
    EXPECT_EQ(bytes_on_wire_of(fp8, "param_amax_all_reduce"), 4 * 2);
    EXPECT_EQ(bytes_on_wire_of(bf16, "param_amax_all_reduce"), 0);
  }
}

TEST_F(Fp8Schedule, WithoutFp8ParametersNothingIsEnqueued) {
  for (const std::string& line : schedule_text(record(false)))
    EXPECT_EQ(line.find("param_amax"), std::string::npos) << line;
}

/// The main parameter at `offset` of the buffer: no two alike, and each rank's shard with a peak of its own.
float main_value(std::int64_t offset) { return std::sin(static_cast<float>(offset)) * static_cast<float>(offset % 97); }

class Fp8Gather : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(GroupSizes, Fp8Gather, testing::Values(1, 2, 4, 5));

TEST_P(Fp8Gather, EveryRankHoldsEveryWeightQuantisedByTheLargestValueOfAllShards) {
  host::Ranks ranks(GetParam());
  ranks.run([](Device& device, const Group& group) {
    plan::Config config;
    const Buffers buffers = buffers_of(device, group, true);
    const Context context = context_of(device, buffers, config);
    const Tensor main = device.allocate("main", DataType::f32, buffers.layout.elements);
    Fp8Parameters fp8(context);
    const auto gather = make_param_gather(context);
    device.begin();
    std::vector<float> values(static_cast<std::size_t>(main.elements));
    for (const std::int32_t p : {2, 4}) {
      const View place = buffers.main_grad(p);
      for (std::int64_t i = place.offset; i < place.end(); ++i) values[static_cast<std::size_t>(i)] = main_value(i);
    }
    device.upload(context.compute, {.kind = Kind::copy}, flat(main), std::as_bytes(std::span(values)));
    device.launch(context.compute, {}, kernels::fill(flat(buffers.params), 0));
    fp8.initialize({.kind = Kind::compute});
    fp8.update({.kind = Kind::compute}, [&](std::int32_t b) { return buffers.shard(main, b); });
    gather->begin_step(0);
    device.synchronize();
    for (const std::int32_t p : {2, 4}) {
      const View weight = buffers.weight(p);
      float amax = 0;
      for (std::int64_t i = 0; i < weight.elements(); ++i)
        amax = std::max(amax, std::abs(main_value(buffers.main_grad(p).offset + i)));
      EXPECT_EQ(testing_support::read(device, buffers.inverse_scale(p))[0], amax / 448) << p;
      const auto got =
          testing_support::read<std::uint8_t>(device, flat(weight.tensor, weight.offset, weight.elements()));
      for (std::int64_t i = 0; i < weight.elements(); ++i) {
        const float value = main_value(buffers.main_grad(p).offset + i);
        ASSERT_EQ(got[static_cast<std::size_t>(i)], f8e4m3(value * (1.0F / (amax / 448))).bits) << p << ", " << i;
      }
    }
  });
}

}  // namespace
}  // namespace underlap::dp
