// SPDX-License-Identifier: Apache-2.0
// What every technique computes, on ranks of the host, against attention of one rank that has the whole sequence.
#include <cmath>

#include "impl/plan/config.hpp"
#include "kernels/bf16.hpp"
#include "tests/impl/cp/cases.hpp"
#include "tests/impl/device/ranks.hpp"

namespace underlap::cp {
namespace {

constexpr std::int64_t kLength = 24, kHeads = 8, kGroups = 4, kHeadSize = 8;

/// One tensor of whole sequences, rows in order.
struct Whole {
  std::int64_t features = 0;
  std::vector<bf16> values;
};
struct Result {
  Whole out, d_q, d_k, d_v;
};

/// A number that depends on where it stands in the sequences, not on which rank holds it.
bf16 value_of(int tensor, std::int64_t row, std::int64_t column) {
  const double x = static_cast<double>(tensor * 7919 + row * 131 + column);
  return bf16(static_cast<float>(std::sin(x * x * 0.37 + x) * (tensor == 3 ? 0.5 : 1.5)));
}

/// Runs forward and backward of two layers' attention in turn, as a step does, and keeps the second's.
class RankedAttention {
 public:
  RankedAttention(const CpCase& c, std::int64_t sequences) : case_(c), config_(c.config()), sequences_(sequences) {
    for (Whole* whole : {&result_.out, &result_.d_q, &result_.d_k, &result_.d_v}) {
      const bool is_kv = whole == &result_.d_k || whole == &result_.d_v;
      whole->features = (is_kv ? kGroups : kHeads) * kHeadSize;
      whole->values.resize(static_cast<std::size_t>(sequences * kLength * whole->features));
    }
  }

  Result result() {
    host::Ranks ranks(case_.num_ranks, {.guard_views = true});
    ranks.run([&](Device& device, const Group& group) { run_rank(device, group); });
    return result_;
  }

 private:
  void run_rank(Device& device, const Group& group) {
    const AttentionShape shape{sequences_, kLength / case_.num_ranks, kHeads, kGroups, kHeadSize};
    const Stream compute = device.create_stream("compute");
    Communicators communicators(device, group, compute, config_);
    const auto attention = make_attention({&communicators, &config_, shape, case_.comm_type});
    std::vector<std::unique_ptr<Attention::Saved>> saved;
    for (int layer = 0; layer < 2; ++layer) saved.push_back(attention->allocate_saved());
    const std::int64_t tokens = shape.tokens(), packed = shape.query_features() + 2 * shape.kv_features();
    const auto allocate = [&](std::int64_t cols) { return allocate_matrix(device, "x", DataType::bf16, tokens, cols); };
    const auto parts_of = [&](const View& qkv) {  // columns of one tensor, as a layer has them
      const std::int64_t q = shape.query_features(), kv = shape.kv_features();
      return Qkv{columns_of(qkv, 0, q), columns_of(qkv, q, kv), columns_of(qkv, q + kv, kv)};
    };
    const View qkv = allocate(packed), d_qkv = allocate(packed);
    const View out = allocate(shape.query_features()), d_out = allocate(shape.query_features());
    device.begin();
    upload(device, compute, group.my_index, qkv, 0);
    upload(device, compute, group.my_index, d_out, 3);
    for (const auto& one : saved) attention->forward({}, parts_of(qkv), out, *one);
    for (const auto& one : saved) attention->backward({}, parts_of(qkv), out, d_out, parts_of(d_qkv), *one);
    device.synchronize();
    const Qkv d = parts_of(d_qkv);
    take(device, group.my_index, out, 0, result_.out);
    take(device, group.my_index, d_qkv, 0, result_.d_q);
    take(device, group.my_index, d_qkv, d.k.offset, result_.d_k);
    take(device, group.my_index, d_qkv, d.v.offset, result_.d_v);
  }

  /// Where in all sequences a rank's row lies.
  std::int64_t place(std::int32_t rank, std::int64_t row) const {
    const std::int64_t here = kLength / case_.num_ranks, half = here / 2;
    if (case_.num_ranks == 1) return row;
    const std::int64_t in_sequence = row % here, chunk = in_sequence < half ? rank : 2 * case_.num_ranks - 1 - rank;
    return row / here * kLength + chunk * half + in_sequence % half;
  }

  void upload(Device& device, Stream stream, std::int32_t rank, const View& view, int tensor) const {
    std::vector<bf16> values;
    for (std::int64_t row = 0; row < view.rows; ++row)
      for (std::int64_t column = 0; column < view.cols; ++column)
        values.push_back(value_of(tensor, place(rank, row), column));
    device.upload(stream, {}, view, std::as_bytes(std::span(values)));
  }

  void take(Device& device, std::int32_t rank, const View& view, std::int64_t first, Whole& whole) {
    const std::vector<bf16> values = testing_support::read<bf16>(device, view);
    const std::lock_guard lock(mutex_);
    for (std::int64_t row = 0; row < view.rows; ++row)
      std::copy_n(values.begin() + row * view.cols + first, whole.features,
                  whole.values.begin() + place(rank, row) * whole.features);
  }

  CpCase case_;
  plan::Config config_;
  std::int64_t sequences_;
  Result result_;
  std::mutex mutex_;
};

/// The largest difference, as a part of the largest value of `b`; not a number where `a` has one that is none.
double distance(const Whole& a, const Whole& b) {
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = static_cast<float>(a.values[i]), y = static_cast<float>(b.values[i]);
    if (std::isnan(x)) return x;
    difference = std::max(difference, std::abs(x - y));
    largest = std::max(largest, std::abs(y));
  }
  return difference / largest;
}

std::vector<std::uint16_t> bits(const Whole& whole) {
  std::vector<std::uint16_t> bits(whole.values.size());
  std::memcpy(bits.data(), whole.values.data(), bits.size() * sizeof(bits[0]));
  return bits;
}

class AttentionValues : public testing::TestWithParam<CpCase> {};
INSTANTIATE_TEST_SUITE_P(Techniques, AttentionValues, testing::ValuesIn(overlapped_cases()), CpCaseName());
INSTANTIATE_TEST_SUITE_P(OfThreeRanks, AttentionValues,
                         testing::Values(CpCase{"P2p3", plan::CpCommType::p2p, 3},
                                         CpCase{"AllGather3", plan::CpCommType::all_gather, 3}),
                         CpCaseName());

// Steps of a ring are rounded to bf16 before they are added up, and so are the terms of gradients.
TEST_P(AttentionValues, AreThoseOfTheWholeSequence) {
  for (const std::int64_t sequences : {1, 2}) {
    const Result whole = RankedAttention({}, sequences).result(),
                 parted = RankedAttention(GetParam(), sequences).result();
    const double ulp = 1.0 / 128;
    EXPECT_LE(distance(parted.out, whole.out), ulp);
    EXPECT_LE(distance(parted.d_q, whole.d_q), 2 * ulp);
    EXPECT_LE(distance(parted.d_k, whole.d_k), 2 * ulp);
    EXPECT_LE(distance(parted.d_v, whole.d_v), 2 * ulp);
  }
}

TEST_P(AttentionValues, AreTheSameBitsWhereEveryTransferIsWaitedFor) {
  const Result overlapped = RankedAttention(GetParam(), 2).result(),
               blocking = RankedAttention(GetParam().blocking(), 2).result();
  EXPECT_EQ(bits(overlapped.out), bits(blocking.out));
  EXPECT_EQ(bits(overlapped.d_q), bits(blocking.d_q));
  EXPECT_EQ(bits(overlapped.d_k), bits(blocking.d_k));
  EXPECT_EQ(bits(overlapped.d_v), bits(blocking.d_v));
}

TEST(AttentionTechniques, HierarchiesOfOneLevelAreP2pOrA2a) {
  for (const bool overlap : {true, false}) {
    const auto choice = [&](std::array<std::int32_t, 2> groups) {
      const CpCase c{"", plan::CpCommType::a2a_p2p, 2, groups, overlap};
      const Choice chosen = choice_of(c.config(), 2, c.comm_type);
      EXPECT_EQ(chosen.overlap, overlap);
      return chosen.comm_type;
    };
    EXPECT_EQ(choice({1, 2}), plan::CpCommType::p2p);
    EXPECT_EQ(choice({2, 1}), plan::CpCommType::a2a);
  }
}

TEST(AttentionTechniques, FollowFromTheExchangeAndItsOverlap) {
  const std::map<plan::CpCommType, std::string> kNames{{plan::CpCommType::p2p, "p2p_attention"},
                                                       {plan::CpCommType::all_gather, "all_gather_attention"},
                                                       {plan::CpCommType::a2a, "a2a_attention"},
                                                       {plan::CpCommType::a2a_p2p, "a2a_p2p_attention"}};
  for (const bool alone : {true, false})
    for (const auto& [type, name] : kNames)
      for (const bool overlap : {true, false})
        EXPECT_EQ(Attentions::in_effect({alone, type, overlap}).name,
                  alone ? "local_attention" : (overlap ? "" : "blocking_") + name);
}

TEST(AttentionTechniques, RefuseWhatCannotBeParted) {
  const auto failure = [](const AttentionShape& shape, plan::CpCommType type) {
    const CpCase c{"", type, 2};
    const plan::Config config = c.config();
    return host::Ranks(2).run_and_catch([&](Device& device, const Group& group) {
      Communicators communicators(device, group, device.create_stream("compute"), config);
      make_attention({&communicators, &config, shape, type});
    });
  };
  EXPECT_THAT(failure({1, 7, 2, 2, 4}, plan::CpCommType::p2p), HasSubstr("7 rows of each sequence"));
  EXPECT_THAT(failure({1, 8, 6, 3, 4}, plan::CpCommType::a2a),
              HasSubstr("the 2 ranks of an all-to-all must divide the 3"));
}

}  // namespace
}  // namespace underlap::cp
