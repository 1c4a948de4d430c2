// SPDX-License-Identifier: Apache-2.0
// The law that every answer to "what if" rests on: no operation gets faster because a machine got slower.
#include "impl/device/sim/cost_model.hpp"
#include "impl/device/sim/transfer_model.hpp"
#include "tests/impl/device/sim/figure_edits.hpp"

namespace underlap::sim {
namespace {

/// Some transfers of one group: collectives, messages, or both.
struct DrawnCall {
  std::vector<TransferShape> transfers;
  std::vector<std::int32_t> members;
  CommunicatorHints hints;
};

std::string describe(const DrawnCall& call) {
  std::string text = fmt::format("{} ranks from {} to {}, {} SMs:", call.members.size(), call.members.front(),
                                 call.members.back(), call.hints.sms);
  for (const TransferShape& t : call.transfers) text += fmt::format(" {} of {}", to_string(t.collective), t.bytes);
  return text;
}

DrawnCall draw_call(test::Draw& draw, std::int32_t gpus_per_node) {
  DrawnCall call;
  const auto per_node = static_cast<std::int32_t>(draw.from(1, gpus_per_node));
  const auto nodes = static_cast<std::int32_t>(std::int64_t{1} << draw.below(9));
  const std::int32_t apart = gpus_per_node / per_node;
  for (std::int32_t node = 0; node < nodes; ++node)
    for (std::int32_t i = 0; i < per_node; ++i) call.members.push_back(node * gpus_per_node + i * apart);
  if (call.members.size() == 1) call.members.push_back(gpus_per_node);
  static const std::vector<Collective> kinds{Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
                                             Collective::broadcast,  Collective::all_to_all,     Collective::send,
                                             Collective::receive};
  const Collective kind = draw.of(kinds);
  for (std::int64_t n = draw.from(1, 3); n > 0; --n)
    call.transfers.push_back({.collective = kind,
                              .bytes = (std::int64_t{1} << draw.below(34)) + draw.below(4096),
                              .peer = static_cast<std::int32_t>(draw.from(1, std::ssize(call.members) - 1))});
  if (draw.below(3) == 0) call.hints.sms = static_cast<int>(draw.from(1, 32));
  return call;
}

Cost draw_cost(test::Draw& draw, const Gpu& gpu) {
  const auto sms = static_cast<int>(gpu.sms.value);
  Cost cost{.bytes_read = draw.from(0, 1 << 30), .bytes_written = draw.from(1, 1 << 28)};
  if (draw.below(2) == 0) cost.sms = static_cast<int>(draw.from(1, sms));
  if (draw.below(4) == 0) cost.sm_margin = static_cast<int>(draw.from(0, sms - 1));
  static const std::vector<Work> works{Work::memory, Work::norm, Work::gemm, Work::attention_forward,
                                       Work::attention_backward};
  cost.work = draw.of(works);
  cost.extent = {draw.from(1, 16384), draw.from(1, 256), draw.from(1, 512)};
  if (cost.work == Work::gemm) {
    cost.extent = {draw.from(1, 16384), draw.from(1, 16384), draw.from(1, 16384)};
    if (gpu.fp8_tflops && draw.below(2) == 0) cost.precision = Precision::fp8;
    // So many bytes that memory takes about as long as the product.
    const double flops = 2.0 * static_cast<double>(cost.extent[0] * cost.extent[1] * cost.extent[2]);
    cost.bytes_read = static_cast<std::int64_t>(flops / gpu.bf16_tflops.value * gpu.hbm_gb_per_s.value / 1000 *
                                                std::pow(4.0, draw.from(-1, 3)) * draw.share());
  }
  cost.flops = 4.0 * static_cast<double>(cost.extent[0]) * static_cast<double>(cost.extent[0]) *
               static_cast<double>(cost.extent[1]) * static_cast<double>(cost.extent[2]);
  return cost;
}

struct Monotony : testing::TestWithParam<std::string> {
  const std::string yaml = test::shipped_yaml(GetParam());
  const std::vector<test::Figure> figures = test::rates_and_latencies(yaml);
  const Hardware shipped = parse_hardware(yaml, GetParam());
  const std::int32_t gpus_per_node = static_cast<std::int32_t>(shipped.node.gpus.value);
};

// Beyond rounding.
bool is_less(double a, double b) { return a < b * (1 - 1e-9) - 1e-6; }

TEST_P(Monotony, NoOperationAloneIsFasterOnASlowerMachine) {
  ASSERT_GT(figures.size(), 30U);
  test::Draw draw(20261124);
  for (const test::Figure& figure : figures) {
    const std::array machines = test::slower_and_faster(yaml, figure, draw);
    const CostModel slower(machines[0]), faster(machines[1]);
    for (int i = 0; i < 20; ++i) {
      const DrawnCall call = draw_call(draw, gpus_per_node);
      const auto of_call = [&](const CostModel& model) {
        return model.transfers(call.transfers, call.members, 0, call.hints).alone_ns;
      };
      EXPECT_FALSE(is_less(of_call(slower), of_call(faster)))
          << figure.name << ", " << figure.value << " there, " << of_call(faster) << " ns and slower "
          << of_call(slower) << ": " << describe(call);
      const Cost cost = draw_cost(draw, shipped.gpu);
      EXPECT_FALSE(is_less(slower.kernel(cost).alone_ns, faster.kernel(cost).alone_ns)) << figure.name;
      EXPECT_FALSE(is_less(slower.copy(cost.bytes_read).alone_ns, faster.copy(cost.bytes_read).alone_ns))
          << figure.name;
    }
  }
}

// A segment that begins below the end of the one before takes what is missing as its own latency grows.
TEST(Monotony, ACallOfSeveralIsNoFasterWhereOneOfThemHasMoreLatency) {
  const auto alone_ns = [](double latency_us) {
    Hardware hardware = test::round_hardware();
    for (CollectiveTimes& times : hardware.collectives)
      if (times.nodes == 1)
        times.segments = {{.up_to_bytes = 1000, .latency_us = 100, .busbw_gb_per_s = 100},
                          {.up_to_bytes = 2000, .latency_us = latency_us, .busbw_gb_per_s = 100},
                          {.up_to_bytes = 1 << 30, .latency_us = 200, .busbw_gb_per_s = 100}};
    const std::vector<TransferShape> call{{.collective = Collective::all_gather, .bytes = 2000},
                                          {.collective = Collective::reduce_scatter, .bytes = 1 << 20}};
    return CostModel(hardware).transfers(call, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}, 0).alone_ns;
  };
  EXPECT_FALSE(is_less(alone_ns(50), alone_ns(10)));
}

// What is asked most: a link at a part of its rate, on the group that is known best and on one that is carried over.
TEST_P(Monotony, LineRatesAreWorthSomethingToCollectives) {
  for (const std::string name : {"nvlink_gb_per_s", "network_gb_per_s"}) {
    const auto figure = std::find_if(figures.begin(), figures.end(), [&](const auto& f) { return f.name == name; });
    ASSERT_NE(figure, figures.end());
    const CostModel half(with(yaml, *figure, figure->value / 8)), whole(shipped);
    const std::vector<TransferShape> gather{{.collective = Collective::all_gather, .bytes = std::int64_t{1} << 30}};
    std::vector<std::int32_t> node, across;
    for (std::int32_t r = 0; r < gpus_per_node; ++r) node.push_back(r);
    for (std::int32_t r = 0; r < 16; ++r) across.push_back(r * gpus_per_node);
    const bool inside = name == "nvlink_gb_per_s";
    const auto& members = inside ? node : across;
    if (GetParam() == "l20") continue;  // NCCL takes an eighth of its links as it is
    EXPECT_GT(half.transfers(gather, members, 0).alone_ns, 2 * whole.transfers(gather, members, 0).alone_ns) << name;
  }
}

TEST_P(Monotony, CollectivesWereTakenOnTheMachineThatTheFileDescribes) {
  ASSERT_TRUE(shipped.collectives_taken_on);
  const nccl::Machine here = nccl::machine_of(shipped), there = nccl::machine_taken_on(shipped);
  EXPECT_EQ(here.nvlink_gb_per_s, there.nvlink_gb_per_s);
  EXPECT_EQ(here.network_gb_per_s, there.network_gb_per_s);
  const auto figures_of = [](const nccl::Machine& machine) {
    const NcclFigures& f = machine.figures;
    const auto optional = [](const std::optional<Figure>& figure) { return figure ? figure->value : -1; };
    return std::vector{f.ring_channels.value,
                       f.ring_channel_gb_per_s.value,
                       f.network_channels.value,
                       f.network_channel_gb_per_s.value,
                       f.network_latency_us.value,
                       optional(f.nvls_channels),
                       optional(f.nvls_channel_gb_per_s)};
  };
  EXPECT_EQ(figures_of(here), figures_of(there));
}

INSTANTIATE_TEST_SUITE_P(Shipped, Monotony, testing::ValuesIn(hardware_names()), CaseName());

}  // namespace
}  // namespace underlap::sim
