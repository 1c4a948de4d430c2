// SPDX-License-Identifier: Apache-2.0
// What every reduction leaves: the gradients averaged over all ranks, each in the shards of those who update it.
#include <gmock/gmock.h>

#include <tuple>

#include "impl/dp/technique.hpp"
#include "impl/plan/config.hpp"
#include "tests/impl/device/ranks.hpp"

namespace underlap::dp {
namespace {

struct Reduction {
  const char* name;
  std::int32_t num_instances = 1;
  void (*change)(plan::DdpConfig&) = [](plan::DdpConfig&) {};
};
void PrintTo(const Reduction& r, std::ostream* out) { *out << r.name; }

constexpr std::int32_t kRanks = 4;

// Ranks of an instance are neighbors; those of one shard stand at the same place of each.
Group instance_of(std::int32_t rank, std::int32_t num_instances) {
  const std::int32_t size = kRanks / num_instances;
  return testing_support::group_of(size, rank % size, rank - rank % size);
}

Group across_instances(std::int32_t rank, std::int32_t num_instances) {
  const std::int32_t size = kRanks / num_instances;
  return testing_support::group_of(num_instances, rank / size, rank % size, size);
}

class Average : public testing::TestWithParam<std::tuple<Reduction, bool, bool>> {
 protected:
  Average() {
    const auto& [reduction, overlaps, in_collective] = GetParam();
    reduction.change(config_.ddp);
    config_.ddp.num_distributed_optimizer_instances = reduction.num_instances;
    config_.ddp.overlap_grad_reduce = overlaps;
    config_.ddp.average_in_collective = in_collective;
  }

  // Gradients of rank r are 1 + r times their place.
  void reduce(Device& device, std::int32_t rank, const Buffers& buffers) {
    const std::int32_t num_instances = config_.ddp.num_distributed_optimizer_instances;
    Context context{.device = &device,
                    .buffers = &buffers,
                    .compute = device.create_stream("compute"),
                    .reduce = device.declare("dp", buffers.group),
                    .gather = {},
                    .across_instances = {},
                    .config = &config_};
    if (num_instances > 1)
      context.across_instances = device.declare("dp_instances", across_instances(rank, num_instances));
    const auto grad_reduce = make_grad_reduce(context);
    device.begin();
    std::vector<float> values;
    for (std::int64_t i = 0; i < buffers.grads.elements; ++i) values.push_back(static_cast<float>((1 + rank) * i));
    device.upload(context.compute, {.kind = Kind::copy}, flat(buffers.grads), std::as_bytes(std::span(values)));
    grad_reduce->begin_step(0);
    for (std::int32_t p = 3; p >= 0; --p) grad_reduce->after_wgrad({&p, 1});
    grad_reduce->finish();
    device.synchronize();
  }

  plan::Config config_;
};
INSTANTIATE_TEST_SUITE_P(
    Reductions, Average,
    testing::Combine(
        testing::Values(Reduction{"OneInstance"}, Reduction{"TwoInstances", 2}, Reduction{"AnInstanceEach", 4},
                        Reduction{"Unsharded", 1, [](plan::DdpConfig& c) { c.use_distributed_optimizer = false; }},
                        Reduction{"Fp32Accumulation", 1,
                                  [](plan::DdpConfig& c) { c.reduce_scatter_with_fp32_accumulation = true; }}),
        testing::Bool(), testing::Bool()),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + (std::get<1>(test.param) ? "Overlapped" : "") +
             (std::get<2>(test.param) ? "InCollective" : "");
    });

TEST_P(Average, IsOverAllRanksInEveryShard) {
  host::Ranks(kRanks).run([this](Device& device, const Group& all) {
    Buffers buffers;
    for (int i = 0; i < 4; ++i) buffers.parameters.push_back({.name = "p", .rows = 1, .cols = 128});
    buffers.group = instance_of(all.my_index, config_.ddp.num_distributed_optimizer_instances);
    buffers.layout = lay_out(buffers.parameters, {.bucket_size = 128, .num_shards = buffers.group.size()});
    buffers.is_sharded = config_.ddp.use_distributed_optimizer;
    buffers.grads = device.allocate("grads", DataType::f32, buffers.layout.elements);
    reduce(device, all.my_index, buffers);
    for (std::int32_t b = 0; b < buffers.layout.num_buckets(); ++b) {
      const View shard = buffers.shard(buffers.grads, b);
      const std::vector<float> values = testing_support::read(device, shard);
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], 2.5F * static_cast<float>(shard.offset + static_cast<std::int64_t>(i))) << "bucket " << b;
    }
  });
}

}  // namespace
}  // namespace underlap::dp
