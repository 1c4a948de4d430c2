// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "impl/device/recording_device.hpp"
#include "impl/device/sim/engine.hpp"
#include "tests/impl/cp/cases.hpp"

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
class AttentionTimes final : public sim::TimeModel {
 public:
  static constexpr int kSms = 100;
  static constexpr int kFree = 1;  ///< marks an operation around attention, which takes no time

  explicit AttentionTimes(const AttentionCase& c) : case_(c) {}

  sim::DeviceLimits limits() const override { return {.sms = kSms, .copy_engines = kSms}; }
  sim::HostCosts host() const override { return {}; }
  sim::KernelTime kernel(const Cost& cost) const override {
    using Kind = sim::KernelTime::Kind;
    const double head_size = static_cast<double>(case_.head_size);
    if (cost.work == Work::attention_forward) return tile(cost.flops / (4 * head_size), case_.tile_ns);
    if (cost.work == Work::attention_backward) return tile(cost.flops / (10 * head_size), case_.backward_tile_ns);
    return {.kind = Kind::copy, .alone_ns = cost.sms == kFree ? 0 : static_cast<double>(case_.other_ns)};
  }
  sim::KernelTime copy(std::int64_t) const override { return {.kind = sim::KernelTime::Kind::copy}; }
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
  Trace play(const sim::TimeModel& times) const {
    std::vector<sim::RankQueues::Source> sources;
    for (Program& recorded : record(2))
      sources.emplace_back([program = std::move(recorded), done = false]() mutable -> std::optional<Program> {
        if (std::exchange(done, true)) return std::nullopt;
        return std::move(program);
      });
    sim::Engine engine(times, {.connections = case_.connections}, std::move(sources));
    engine.play();
    return engine.take_trace();
  }
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
    return matrix(rank.device.allocate(name, DataType::bf16, rows * cols), rows, cols);
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
    Group context{std::vector<std::int32_t>(static_cast<std::size_t>(c)), index % c};
    std::iota(context.members.begin(), context.members.end(), index / c * c);
    Group data{.members = {}, .my_index = index / c};
    for (std::int32_t d = 0; d < num_data; ++d) data.members.push_back(d * c + index % c);
    const Stream compute = rank.device.create_stream("compute");
    if (num_data > 1) rank.data = rank.device.declare("dp", data);
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
    rank.device.wait(rank.data.stream, rank.device.record(rank.communicators->compute()));
    const Transfer t{.collective = Collective::all_reduce, .input = whole, .output = whole};
    rank.device.communicate(
        rank.data, {.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("reduce"), .step = step}, {&t, 1});
    rank.device.wait(rank.communicators->compute(), rank.device.record(rank.data.stream));
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
