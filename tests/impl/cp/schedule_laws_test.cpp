// SPDX-License-Identifier: Apache-2.0
// What each context-parallel technique must leave exposed, to the nanosecond, and how many bytes it sends.
#include <gmock/gmock.h>

#include "impl/device/sim/machine.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/impl/cp/virtual_attention.hpp"

namespace underlap::cp {
namespace {

using plan::CpCommType;

// Chunks of two rows: a tile that is not causal has 8 pairs a head, the causal one 10.
constexpr std::int64_t kTileNs = 800, kDiagonalNs = 1000;
constexpr std::int64_t kBackwardTileNs = 1600, kBackwardDiagonalNs = 2000;

AttentionCase attention(const CpCase& cp) {
  return {.cp = cp, .tile_ns = kTileNs, .backward_tile_ns = kBackwardTileNs};
}

std::vector<analysis::Split> splits_of(const AttentionCase& c) {
  const Trace trace = VirtualAttention(c).play();
  std::vector<analysis::Split> splits;
  for (const analysis::Window& window : analysis::find_windows(trace).windows)
    splits.push_back(analysis::split_window(trace, window));
  EXPECT_EQ(splits.size(), static_cast<std::size_t>(c.cp.num_ranks));
  return splits;
}

constexpr std::int64_t excess(std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(0, a - b); }

class RingLaw : public testing::TestWithParam<std::tuple<std::int32_t, std::int64_t>> {
 protected:
  std::int64_t size() const { return std::get<0>(GetParam()); }
  std::int64_t hop_ns() const { return std::get<1>(GetParam()); }
  AttentionCase ring() const {
    AttentionCase c = attention({"", CpCommType::p2p, std::get<0>(GetParam())});
    c.hop_ns = hop_ns();
    return c;
  }
  std::int64_t compute_ns() const {
    return kDiagonalNs + kBackwardDiagonalNs + (size() - 1) * (kTileNs + kBackwardTileNs);
  }
};
INSTANTIATE_TEST_SUITE_P(Hops, RingLaw,
                         testing::Combine(testing::Values(2, 4, 8),
                                          testing::Values(10, 799, 800, 801, 1000, 1200, 1700, 2100, 9000)));

// Hops of forward follow one another without a gap; the diagonal is longer than the tiles behind it and gives the first
// hops that much of a start. In backward each step waits for its own: keys, then keys with gradients, then gradients.
TEST_P(RingLaw, ExposesWhatHopsTakeLongerThanTheTilesBesideThem) {
  const std::int64_t forward = excess((size() - 1) * excess(hop_ns(), kTileNs), kDiagonalNs - kTileNs);
  const std::int64_t backward = excess(hop_ns(), kBackwardTileNs) +
                                (size() - 2) * excess(2 * hop_ns(), kBackwardTileNs) +
                                excess(hop_ns(), kBackwardDiagonalNs);
  for (const analysis::Split& split : splits_of(ring())) {
    EXPECT_EQ(split.compute_ns(), compute_ns()) << "zigzag gives all ranks the same";
    EXPECT_EQ(split.exposed_ns(), forward + backward);
    EXPECT_EQ(split.window_ns, compute_ns() + forward + backward);
  }
}

TEST_P(RingLaw, ExposesEveryHopThatIsWaitedFor) {
  AttentionCase c = ring();
  c.cp.overlap = false;
  for (const analysis::Split& split : splits_of(c)) {
    EXPECT_EQ(split.exposed_ns(), 3 * (size() - 1) * hop_ns()) << "backward moves gradients too";
    EXPECT_EQ(split.window_ns, compute_ns() + split.exposed_ns());
  }
}

// On an H100, attention of llama3-70b over four ranks. A hop is posted in front of the tile beside it. Where the tile
// is first on the device all the same, it leaves the hop no multiprocessor before its last wave: nothing is hidden.
class RingOnAnH100 : public testing::TestWithParam<std::int64_t> {
 protected:
  analysis::Split split_of(const CpCase& cp, std::int32_t connections) const {
    const AttentionCase c{
        .cp = cp, .chunk = GetParam() / 8, .heads = 64, .groups = 8, .head_size = 128, .connections = connections};
    const sim::CostModel h100(sim::load_hardware("h100-sxm"));
    const Trace trace = VirtualAttention(c).play(h100);
    return analysis::split_window(trace, analysis::find_windows(trace).windows.at(0));
  }
  CpCase ring_{"", CpCommType::p2p, 4};
};
INSTANTIATE_TEST_SUITE_P(Sequences, RingOnAnH100, testing::Values(4096, 8192, 32768));

TEST_P(RingOnAnH100, HidesAllHopsWithOneConnectionOrAtHighPriority) {
  EXPECT_EQ(split_of(ring_, 1).exposed_ns(), 0);
  ring_.nccl_high_priority = true;
  EXPECT_EQ(split_of(ring_, 8).exposed_ns(), 0);
}

TEST_P(RingOnAnH100, HidesNextToNothingBehindTilesThatWereFirst) {
  const std::int64_t blocking = split_of(ring_.blocking(), 8).exposed_ns();
  EXPECT_GT(blocking, 0);
  EXPECT_GT(split_of(ring_, 8).exposed_ns(), blocking * 9 / 10);
}

class CollectiveLaw : public testing::TestWithParam<CpCase> {
 protected:
  static constexpr std::int64_t kKeysNs = 300;  // a collective of as many bytes as one rank has of keys
  static constexpr std::int64_t kQueriesPerKey = 2;
};
INSTANTIATE_TEST_SUITE_P(Techniques, CollectiveLaw, testing::ValuesIn(all_cases()), CpCaseName());

// All pairs of the sequence, shared out evenly.
TEST_P(CollectiveLaw, ExposesAllCollectives) {
  if (GetParam().comm_type == CpCommType::p2p) return;
  AttentionCase c = attention(GetParam());
  c.collective_ns = kKeysNs;
  c.hop_ns = 1;
  const std::int64_t size = c.cp.num_ranks, length = 2 * size * c.chunk;
  const std::int64_t a2a = 4 * (kQueriesPerKey + 1) * kKeysNs;  // q, k, v, out; and their gradients
  std::int64_t exposed = 0;
  switch (GetParam().comm_type) {
    case CpCommType::all_gather: exposed = 3 * 2 * size * kKeysNs; break;
    case CpCommType::a2a: exposed = a2a; break;
    default: exposed = a2a + kQueriesPerKey * kKeysNs + (GetParam().overlap ? 0 : 3 * c.hop_ns); break;
  }
  const double share = static_cast<double>(length * (length + 1) / 2 * c.heads / size) / c.tile_pairs();
  for (const analysis::Split& split : splits_of(c)) {
    EXPECT_EQ(split.exposed_ns(), exposed);
    EXPECT_EQ(split.compute_ns(), static_cast<std::int64_t>(share * (kTileNs + kBackwardTileNs)));
    EXPECT_EQ(split.window_ns, split.compute_ns() + exposed);
  }
}

// Of three tensors that are exchanged one after the other, what is reordered between two all-to-alls is beside one.
TEST(HeadExchangeLaws, OverlapSavesTheReorderingBetweenAllToAlls) {
  AttentionCase c = attention({"", CpCommType::a2a, 4});
  c.collective_ns = 100;
  c.other_ns = 7;
  const std::int64_t overlapped = splits_of(c).at(0).window_ns;
  c.cp.overlap = false;
  EXPECT_EQ(splits_of(c).at(0).window_ns - overlapped, 2 * 4 * c.other_ns);
}

TEST(RingLaws, MergesAreBesideTilesAndCorrectionsAreNot) {
  AttentionCase c = attention({"", CpCommType::p2p, 4});
  c.hop_ns = 10;
  const std::int64_t window = splits_of(c).at(0).window_ns;
  c.other_ns = 1;
  const std::int64_t packs = 2, last_merge = 1, corrections = 4 + 1;
  const std::int64_t sums = 3 * 2 + 3;   // of two gradients in every step but the first, and of queries
  const std::int64_t early_queries = 1;  // copied at their first tile
  EXPECT_EQ(splits_of(c).at(0).window_ns - window, packs + last_merge + corrections + sums + early_queries);
}

class BytesOnWire : public testing::TestWithParam<CpCase> {};
INSTANTIATE_TEST_SUITE_P(Techniques, BytesOnWire, testing::ValuesIn(all_cases()), CpCaseName());

TEST_P(BytesOnWire, AreWhatTheExchangeNeeds) {
  const AttentionCase c{.cp = GetParam(), .sequences = 2};
  const std::int64_t keys = c.key_bytes(), queries = keys * c.heads / c.groups, size = c.cp.num_ranks;
  const auto of_ring = [&](std::int64_t n) { return 3 * (n - 1) * 2 * keys; };
  const auto of_a2a = [](std::int64_t bytes, std::int64_t n) { return bytes / n * (n - 1); };
  std::int64_t expected = 0;
  switch (GetParam().comm_type) {
    case CpCommType::p2p:
    case CpCommType::all_gather: expected = of_ring(size); break;
    case CpCommType::a2a: expected = of_a2a(4 * (queries + keys), size); break;
    case CpCommType::a2a_p2p: expected = of_a2a(5 * queries + 4 * keys, 2) + of_ring(2); break;
  }
  for (const Program& program : VirtualAttention(c).record(1)) {
    std::int64_t bytes = 0;
    for (const ProgramCommand& command : program.commands) {
      if (command.type != ProgramCommand::Type::communicate) continue;
      const std::int32_t members = program.communicators.at(command.communicator).group.size();
      for (std::uint32_t i = command.first; i < command.first + command.count; ++i)
        bytes += bytes_on_wire(program.all_transfers[i], members);
    }
    EXPECT_EQ(bytes, expected);
  }
}

}  // namespace
}  // namespace underlap::cp
