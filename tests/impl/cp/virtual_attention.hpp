// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/config.hpp"
#include "tests/impl/cp/cases.hpp"
#include "tests/impl/virtual_time.hpp"

namespace underlap::cp {

/// Attention of a few layers on a group of ranks, forward and backward. Durations in nanoseconds, each alone.
struct AttentionCase {
  CpCase cp;
  std::int64_t sequences = 1;
  std::int64_t chunk = 2;  ///< rows of each of the 2c chunks of a sequence
  std::int64_t heads = 8;
  std::int64_t groups = 4;
  std::int64_t head_size = 4;
  std::int64_t tile_ns = 0;           ///< of a ring's tile that is not causal; others by their pairs
  std::int64_t backward_tile_ns = 0;  ///< likewise
  std::int64_t hop_ns = 0;            ///< of one rank's keys and values between two ranks
  std::int64_t collective_ns = 0;     ///< of as many bytes as one rank has of keys
  std::int64_t other_ns = 0;          ///< of every copy, merge, correction and sum
  std::int32_t layers = 1;
  std::int32_t connections = 0;

  AttentionShape shape() const { return {sequences, 2 * chunk, heads, groups, head_size}; }
  std::int64_t key_bytes() const { return shape().tokens() * shape().kv_features() * 2; }
  /// Query-key pairs of a ring's tile that is not causal, of a group that exchanges no heads.
  double tile_pairs() const { return static_cast<double>(sequences * 2 * chunk * chunk * heads); }
};

/// The times of an AttentionCase on a device that nothing but attention shares: one tile at a time.
class AttentionTimes final : public testing_support::UnsharedTimes {
 public:
  static constexpr int kFree = 1;  ///< marks an operation around attention, which takes no time

  explicit AttentionTimes(const AttentionCase& c) : case_(c) {}

  sim::KernelTime kernel(const Cost& cost) const override {
    using Kind = sim::KernelTime::Kind;
    const double head_size = static_cast<double>(case_.head_size);
    if (cost.work == Work::attention_forward) return tile(cost.flops / (4 * head_size), case_.tile_ns);
    if (cost.work == Work::attention_backward) return tile(cost.flops / (10 * head_size), case_.backward_tile_ns);
    return {.kind = Kind::copy, .alone_ns = cost.sms == kFree ? 0 : static_cast<double>(case_.other_ns)};
  }
  sim::TransferTime transfers(std::span<const sim::TransferShape> group, std::span<const std::int32_t>,
                              const CommunicatorHints&) const override {
    sim::TransferTime time;
    for (const sim::TransferShape& shape : group) {
      const bool is_hop = shape.collective == Collective::send || shape.collective == Collective::receive;
      const double keys = static_cast<double>(shape.bytes) / static_cast<double>(case_.key_bytes());
      time.alone_ns +=
          is_hop ? keys / 2 * static_cast<double>(case_.hop_ns) : keys * static_cast<double>(case_.collective_ns);
    }
    return time;
  }

 private:
  sim::KernelTime tile(double pairs, std::int64_t ns_of_tile) const {
    return {.kind = sim::KernelTime::Kind::waves,
            .alone_ns = pairs / case_.tile_pairs() * static_cast<double>(ns_of_tile),
            .tiles = kSms,
            .sms = kSms};
  }

  const AttentionCase& case_;
};

/// Records and plays an AttentionCase.
class VirtualAttention {
 public:
  explicit VirtualAttention(const AttentionCase& c) : case_(c), config_(c.cp.config()) {}

  /// The programs of `num_data` context-parallel groups, ranks of one group next to each other. With more than one the
  /// members of a data-parallel group reduce what they computed, so that they count as equals.
  std::vector<Program> record(std::int32_t num_steps, std::int32_t num_data = 1) const {
    std::vector<Program> programs;
    for (std::int32_t rank = 0; rank < num_data * case_.cp.num_ranks; ++rank)
      programs.push_back(record_rank(rank, num_steps, num_data));
    return programs;
  }

  /// Two steps, the first of which settles, with durations of `times`.
  Trace play(const sim::TimeModel& times) const { return testing_support::play(record(2), times, case_.connections); }
  Trace play() const { return play(AttentionTimes(case_)); }

 private:
  static constexpr Cost kNoTime{.sms = AttentionTimes::kFree};

  struct Layer {
    Qkv in, d_in;
    View out, d_out;
    std::unique_ptr<Attention::Saved> saved;
  };
  /// One rank and what its attention works on.
  struct Rank {
    RecordingDevice device{Detail::operations};
    std::unique_ptr<Communicators> communicators;
    Communicator data;
    std::unique_ptr<Attention> attention;
    std::vector<Layer> layers;
  };

  static View allocate(Rank& rank, const char* name, std::int64_t rows, std::int64_t cols) {
    return allocate_matrix(rank.device, name, DataType::bf16, rows, cols);
  }
  Qkv allocate_qkv(Rank& rank) const {
    const AttentionShape shape = case_.shape();
    return {allocate(rank, "q", shape.tokens(), shape.query_features()),
            allocate(rank, "k", shape.tokens(), shape.kv_features()),
            allocate(rank, "v", shape.tokens(), shape.kv_features())};
  }

  Program record_rank(std::int32_t index, std::int32_t num_steps, std::int32_t num_data) const {
    Rank rank;
    const std::int32_t c = case_.cp.num_ranks;
    const Group context = testing_support::group_of(c, index % c, index / c * c, 1);
    const Stream compute = rank.device.create_stream("compute");
    if (num_data > 1)
      rank.data = rank.device.declare("dp", testing_support::group_of(num_data, index / c, index % c, c));
    rank.communicators = std::make_unique<Communicators>(rank.device, context, compute, config_);
    rank.attention = make_attention({rank.communicators.get(), &config_, case_.shape(), case_.cp.comm_type});
    for (std::int32_t i = 0; i < case_.layers; ++i) {
      Layer& layer = rank.layers.emplace_back();
      layer.saved = rank.attention->allocate_saved();
      layer.in = allocate_qkv(rank);
      layer.d_in = allocate_qkv(rank);
      layer.out = allocate(rank, "out", layer.in.q.rows, layer.in.q.cols);
      layer.d_out = allocate(rank, "d_out", layer.in.q.rows, layer.in.q.cols);
    }
    for (std::int32_t step = 0; step < num_steps; ++step) record_step(rank, step, num_data > 1);
    return rank.device.take_program();
  }

  // A launch named "pass" stands before each of a layer's passes, in its direction.
  void record_step(Rank& rank, std::int32_t step, bool reduces) const {
    Tag tag{.direction = Direction::forward, .step = step};
    const auto begin = [&] {
      rank.device.launch(rank.communicators->compute(), tag, Operation(intern("pass"), nothing, kNoTime, {}));
    };
    for (const Layer& layer : rank.layers) {
      for (const View& view : {layer.in.q, layer.in.k, layer.in.v, layer.d_out})
        around(rank, "before", step, view, Access::out);
      begin();
      rank.attention->forward(tag, layer.in, layer.out, *layer.saved);
      use(rank, layer.out, step, reduces);
    }
    tag.direction = Direction::backward;
    for (const Layer& layer : rank.layers) {
      begin();
      rank.attention->backward(tag, layer.in, layer.out, layer.d_out, layer.d_in, *layer.saved);
      for (const View& view : {layer.d_in.q, layer.d_in.k, layer.d_in.v}) use(rank, view, step, reduces);
    }
    rank.device.mark(rank.communicators->compute(), 0, step);
  }

  static void use(Rank& rank, const View& view, std::int32_t step, bool reduces) {
    around(rank, "after", step, view, Access::in);
    if (!reduces) return;
    const View whole = flat(view.tensor, view.offset, view.elements());
    testing_support::reduce_over(rank.data, rank.device, rank.communicators->compute(), {whole}, step);
  }

  static void around(Rank& rank, const char* purpose, std::int32_t step, const View& view, Access access) {
    rank.device.launch(rank.communicators->compute(), {.purpose = intern(purpose), .step = step},
                       Operation(intern(purpose), nothing, kNoTime, {{view, access}}));
  }
  static void nothing(const Arguments&) {}

  AttentionCase case_;
  plan::Config config_;
};

}  // namespace underlap::cp
