// SPDX-License-Identifier: Apache-2.0
//
// Passes keys and values around a ring. Each hop overlaps with attention over those that have already arrived.
//
// Forward alternates over two streams, so that one fills the tail of the other's last wave, and merges log-sums during
// attention. With the zigzag, all tiles after the first have the same number of pairs on every rank.
//
//   compute    | kv | tile 0 |        | merge | tile 2 |       | merge | corrections |
//   cp_compute |             | tile 1 |                | merge | tile 3 |              (c = 4)
//   cp_ring    |    | hop 0 | hop 1 | hop 2 |
//
// Exposed: the time by which a hop is longer than the tile during it. Corrections are compute that a single rank would
// not have, and all c pairs of keys and values stay in memory until forward ends.
//
// blocking_p2p_attention waits for every hop: the same tiles in the same order, on one stream, and all hops exposed, in
// backward too. No framework runs it this way; it is the baseline for the overlap.
//
//   compute | kv |       | tile 0 |       | tile 1 | merge |       | tile 2 | tile 3 | corrections |
//   cp_ring |    | hop 0 |        | hop 1 |                | hop 2 |
//
// Backward has one stream, and each of its steps ends with a wait for the gradients that arrive during it.
//
//   compute | tile 0 |     | tile 1 |     | sum | tile 2 |    | sum | tile 3 | sum |
//   cp_ring | kv         | | kv, dkv      |     | kv, dkv     |     | dkv |
//
// Exposed: the time by which a step's transfer is longer than its tile. Keys and gradients travel together, so the
// transfer is twice as long as in forward, as is the tile.
// A hop runs on multiprocessors and is posted before its tile. Both become ready at the same moment, when the previous
// hop has arrived. That order is enough with CUDA_DEVICE_MAX_CONNECTIONS=1. With more connections, the tile may start
// first and leave the hop no multiprocessors, so NCCL's streams need high priority: TORCH_NCCL_HIGH_PRIORITY=1, which
// launches of Megatron-Bridge's recipes set together with 32 connections. Transformer Engine's own streams, compute and
// cp_stream, both have normal priority. Source: Liu et al. 2023 (ring attention); Transformer Engine's context
// parallelism, cp_comm_type p2p. It issues a hop's send and receive as one group, or in an order that depends on the
// rank; here they are always one group.
#include <array>
#include <vector>

#include "impl/cp/tiles.hpp"
#include "kernels/attention_merge/attention_merge.hpp"
#include "kernels/cast/cast.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace underlap::cp {
namespace {

/// Forward, step i: this rank's queries against the keys of rank r-i, while those of r-i-1 arrive from rank r-1. Each
/// step has its own result and log-sum. The log-sums are merged as steps end, and the results once all are there.
/// Backward, step i: the reverse order, from rank r+1's keys, which arrived last in forward, to this rank's own. The
/// gradients of keys and values follow one step after the keys that they belong to, and gather a term on each rank.
class RingAttention final : public Attention {
 public:
  RingAttention(const Context& context, Waits waits)
      : communicators_(*context.communicators),
        device_(communicators_.device()),
        shape_(context.shape),
        waits_(waits),
        scope_(communicators_.scope()),
        tiles_(device_, shape_, shape_.seq_here),
        ring_(communicators_.ring()),
        streams_{communicators_.compute(),
                 waits == Waits::at_once ? communicators_.compute() : communicators_.second_compute()},
        me_(communicators_.group().my_index),
        size_(communicators_.group().size()) {
    const std::int64_t tokens = shape_.tokens(), features = shape_.query_features(),
                       pair = 2 * tokens * shape_.kv_features();
    for (std::int32_t i = 0; i < size_; ++i) {
      if (i + 1 < size_) keys_.push_back(allocate_pair("cp_keys"));
      steps_.push_back({.out = allocate_matrix(device_, "cp_step_out", DataType::bf16, tokens, features),
                        .lse = allocate_matrix(device_, "cp_step_lse", DataType::f32, shape_.heads, tokens)});
    }
    sum_ = allocate_matrix(device_, "cp_sum", DataType::f32, tokens, features);
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor passing = device_.allocate("cp_passing", DataType::bf16, 2 * pair);
      passing_with_d_[i] = flat(passing);
      passing_[i] = pair_in(passing, 0);
      d_passing_[i] = pair_in(passing, pair);
    }
    d_q_ = allocate_matrix(device_, "cp_d_q", DataType::bf16, tokens, features);
    d_kv_ = allocate_pair("cp_d_kv");
  }

  std::unique_ptr<Saved> allocate_saved() override {
    auto kept = std::make_unique<Kept>();
    kept->keys = allocate_pair("cp_kept_keys");
    kept->lse = allocate_matrix(device_, "lse", DataType::f32, shape_.heads, shape_.tokens());
    return kept;
  }

  // PyTorch starts a hop after everything on the stream that posts it. Only the first hop needs that order: its keys
  // are copied on this stream, and all earlier readers of the memory that hops overwrite are on it too.
  void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) override {
    static const NameId kPack = intern("kv_concatenate");
    auto& kept = static_cast<Kept&>(saved);
    scope_.launch(tag, Kind::copy, kPack, kernels::copy(in.k, keys_.front().k));
    scope_.launch(tag, Kind::copy, kPack, kernels::copy(in.v, keys_.front().v));
    Event arrived;
    Moment merged;
    for (std::int32_t i = 0; i < size_; ++i) {
      const Stream stream = stream_of(i);
      if (i > 0) device_.wait(stream, arrived);
      if (i + 1 < size_) {
        i == 0 ? scope_.fork({ring_.stream}) : device_.throttle(ring_.stream, device_.record(stream));
        arrived = hop_forward(tag, i, kept);
        if (waits_ == Waits::at_once) device_.throttle(stream, arrived);
      }
      const Pair& keys = keys_of(i, kept);
      const Step& step = steps_[static_cast<std::size_t>(i)];
      tiles_.forward(stream, tag, tile_of(i), {.q = in.q, .k = keys.k, .v = keys.v, .out = step.out, .lse = step.lse});
      if (i > 0) merged = merge(tag, i - 1, kept.lse, merged);
    }
    merged = merge(tag, size_ - 1, kept.lse, merged);
    after(communicators_.compute(), merged);
    correct(tag, kept.lse, out);
  }

  void backward(const Tag& tag, const Qkv& in, const View& out, const View& d_out, const Qkv& d_in,
                Saved& saved) override {
    auto& kept = static_cast<Kept&>(saved);
    const Stream compute = communicators_.compute();
    bool has_early = false;
    for (std::int32_t i = 0; i < size_; ++i) {
      scope_.fork({ring_.stream});
      const Event arrived = hop_backward(tag, i, kept);
      if (waits_ == Waits::at_once) device_.throttle(compute, arrived);
      const Tile tile = zigzag_tile(shape_, me_, (me_ + 1 + i) % size_);
      BackwardStep step{.index = i, .queries = tile.queries, .keys = tile.keys, .has_early_d_q = has_early, .to = {}};
      step.to = i == 0 ? Qkv{d_in.q, d_passing_[1].k, d_passing_[1].v} : Qkv{d_q_, d_kv_.k, d_kv_.v};
      const Pair& keys = i == 0 ? kept.keys : passing_[static_cast<std::size_t>(i) % 2];
      tiles_.backward(compute, tag, tile,
                      {.q = in.q,
                       .k = keys.k,
                       .v = keys.v,
                       .out = out,
                       .lse = kept.lse,
                       .dout = d_out,
                       .dq = step.to.q,
                       .dk = step.to.k,
                       .dv = step.to.v});
      device_.wait(compute, arrived);
      add_kv(tag, step, d_in);
      add_q(tag, step, d_in);
      has_early = has_early || tile.queries.first == 0;
    }
  }

 private:
  /// Keys and values, or their gradients, in one piece that can be sent.
  struct Pair {
    View both;  // [1, 2 T G D]
    View k;     // [T, G D]
    View v;     // [T, G D]
  };
  struct Kept final : Saved {
    Pair keys;  // of rank r+1
    View lse;   // [A, T] f32, over all keys
  };
  /// The result of one step of forward.
  struct Step {
    View out;  // [T, A D] bf16
    View lse;  // [A, T] f32
  };
  struct Moment {
    Stream stream;
    Event event;
  };

  Pair pair_in(const Tensor& tensor, std::int64_t offset) const {
    const std::int64_t tokens = shape_.tokens(), features = shape_.kv_features(), one = tokens * features;
    return {.both = flat(tensor, offset, 2 * one),
            .k = matrix(tensor, tokens, features, offset),
            .v = matrix(tensor, tokens, features, offset + one)};
  }

  Pair allocate_pair(std::string_view name) const {
    return pair_in(device_.allocate(name, DataType::bf16, 2 * shape_.tokens() * shape_.kv_features()), 0);
  }
  Stream stream_of(std::int32_t step) const { return streams_[static_cast<std::size_t>(step) % 2]; }
  std::int32_t source_of(std::int32_t step) const { return (me_ - step + size_) % size_; }
  Tile tile_of(std::int32_t step) const { return zigzag_tile(shape_, me_, source_of(step)); }

  const Pair& keys_of(std::int32_t step, const Kept& kept) const {
    return step + 1 < size_ ? keys_[static_cast<std::size_t>(step)] : kept.keys;
  }

  void after(Stream stream, const Moment& moment) const {
    if (stream.id != moment.stream.id) device_.wait(stream, moment.event);
  }

  // Passes on the keys of this step while those of the next arrive.
  Event hop_forward(const Tag& tag, std::int32_t step, const Kept& kept) {
    static const NameId kPurpose = intern("kv_ring_hop");
    return scope_.communicate(ring_, tag, kPurpose,
                              {send_to((me_ + 1) % size_, keys_of(step, kept).both),
                               receive_from((me_ - 1 + size_) % size_, keys_of(step + 1, kept).both)});
  }

  // Merges one step's log-sums into the log-sums of all steps, on the step's stream, after the merge of the previous
  // step.
  Moment merge(const Tag& tag, std::int32_t step, const View& lse, const Moment& merged_before) {
    static const NameId kPurpose = intern("lse_merge");
    const Stream stream = stream_of(step);
    const View& of_step = steps_[static_cast<std::size_t>(step)].lse;
    if (step > 0) after(stream, merged_before);
    for_each_place(shape_.sequences, shape_.seq_here, tile_of(step).queries, [&](std::int64_t first, std::int64_t num) {
      const View from = columns_of(of_step, first, num), to = columns_of(lse, first, num);
      scope_.launch(stream, tag, Kind::compute, kPurpose,
                    step == 0 ? kernels::copy(from, to) : kernels::merge_lse(from, to));
    });
    return {stream, device_.record(stream)};
  }

  // The steps' results, each with the weight that its log-sums have in all.
  void correct(const Tag& tag, const View& lse, const View& out) {
    static const NameId kPurpose = intern("out_correction");
    for (std::int32_t i = 0; i < size_; ++i) {
      const Step& step = steps_[static_cast<std::size_t>(i)];
      for_each_place(shape_.sequences, shape_.seq_here, tile_of(i).queries, [&](std::int64_t first, std::int64_t num) {
        scope_.launch(tag, Kind::compute, kPurpose,
                      kernels::attention_correction(rows_of(step.out, first, num), columns_of(step.lse, first, num),
                                                    columns_of(lse, first, num), rows_of(sum_, first, num), i == 0));
      });
    }
    scope_.launch(tag, Kind::compute, kPurpose, kernels::cast(sum_, out));
  }

  /// One step of backward, whose tile is that of `queries` and `keys` rows.
  struct BackwardStep {
    std::int32_t index = 0;
    Rows queries;
    Rows keys;
    bool has_early_d_q = false;  // the gradient of chunk r's queries has a term from a step before
    Qkv to;                      // where its gradients go
  };

  // Passes on the keys of this step, except in the last, and after the first also the gradients of the previous step.
  Event hop_backward(const Tag& tag, std::int32_t step, const Kept& kept) {
    static const NameId kKeys = intern("kv_ring_hop"), kBoth = intern("kv_dkv_ring_hop"),
                        kGradients = intern("dkv_ring_hop");
    const std::size_t here = static_cast<std::size_t>(step) % 2, next = 1 - here;
    const bool is_first = step == 0, is_last = step + 1 == size_;
    const View sent = is_first ? kept.keys.both : is_last ? d_passing_[here].both : passing_with_d_[here];
    const View received = is_first ? passing_[next].both : is_last ? d_passing_[next].both : passing_with_d_[next];
    return scope_.communicate(ring_, tag,
                              is_first  ? kKeys
                              : is_last ? kGradients
                                        : kBoth,
                              {send_to((me_ - 1 + size_) % size_, sent), receive_from((me_ + 1) % size_, received)});
  }

  // The first step writes its terms where they are sent from, with zeros in rows that it has no terms for. Later terms
  // are added to what arrived, and the last sum is this rank's own gradient.
  void add_kv(const Tag& tag, const BackwardStep& step, const Qkv& d_in) {
    static const NameId kPurpose = intern("dkv_sum");
    const auto add = [&](const Operation& operation) { scope_.launch(tag, Kind::compute, kPurpose, operation); };
    if (step.index == 0) {
      const Rows rest{step.keys.num, shape_.seq_here - step.keys.num};
      if (rest.num == 0) return;
      for_each_place(shape_.sequences, shape_.seq_here, rest, [&](std::int64_t first, std::int64_t num) {
        add(kernels::fill(rows_of(step.to.k, first, num), 0));
        add(kernels::fill(rows_of(step.to.v, first, num), 0));
      });
      return;
    }
    const Pair& arrived = d_passing_[static_cast<std::size_t>(step.index + 1) % 2];
    if (step.index + 1 == size_) {
      add(kernels::residual_add(arrived.k, step.to.k, d_in.k));
      add(kernels::residual_add(arrived.v, step.to.v, d_in.v));
      return;
    }
    for_each_place(shape_.sequences, shape_.seq_here, step.keys, [&](std::int64_t first, std::int64_t num) {
      add(kernels::accumulate(rows_of(step.to.k, first, num), rows_of(arrived.k, first, num)));
      add(kernels::accumulate(rows_of(step.to.v, first, num), rows_of(arrived.v, first, num)));
    });
  }

  // Queries of chunk 2c-1-r have a term of every step, those of chunk r only of some.
  void add_q(const Tag& tag, const BackwardStep& step, const Qkv& d_in) {
    static const NameId kPurpose = intern("dq_sum");
    if (step.index == 0) return;
    const std::int64_t half = shape_.seq_here / 2;
    const auto add = [&](const Rows& rows) {
      for_each_place(shape_.sequences, shape_.seq_here, rows, [&](std::int64_t first, std::int64_t num) {
        scope_.launch(tag, Kind::compute, kPurpose,
                      kernels::accumulate(rows_of(step.to.q, first, num), rows_of(d_in.q, first, num)));
      });
    };
    if (step.queries.first > 0 || step.has_early_d_q) return add(step.queries);
    add({half, half});
    for_each_place(shape_.sequences, shape_.seq_here, {0, half}, [&](std::int64_t first, std::int64_t num) {
      scope_.launch(tag, Kind::copy, kPurpose,
                    kernels::copy(rows_of(step.to.q, first, num), rows_of(d_in.q, first, num)));
    });
  }

  Communicators& communicators_;
  Device& device_;
  AttentionShape shape_;
  Waits waits_;
  Scope scope_;
  Tiles tiles_;
  Communicator ring_;
  std::array<Stream, 2> streams_;  // that the steps of forward alternate over
  std::int32_t me_;
  std::int32_t size_;

  std::vector<Pair> keys_;         // of forward's steps but the last, whose are kept for backward
  std::vector<Step> steps_;        // of forward
  View sum_;                       // [T, A D] f32
  std::array<Pair, 2> passing_;    // backward: keys and values, and behind each of them
  std::array<Pair, 2> d_passing_;  // the gradients of those that were here a step before; both are one tensor
  std::array<View, 2> passing_with_d_;
  View d_q_;   // [T, A D] bf16: of one step of backward
  Pair d_kv_;  // likewise
};

const Attentions::Register kRegistered{{
    .name = "p2p_attention",
    .summary = "passes keys and values around a ring, each hop during the attention on those that arrived before",
    .exposed = "the time by which a hop exceeds the concurrent attention tile",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::p2p, .overlap = true}},
    .facts = {.knob = "extensions.cp_overlap", .purposes = {"kv_ring_hop", "kv_dkv_ring_hop", "dkv_ring_hop"}},
    .make = make_of<RingAttention, Waits::where_needed>,
}};

const Attentions::Register kBlocking{{
    .name = "blocking_p2p_attention",
    .summary = "passes keys and values around a ring and waits for each hop",
    .exposed = "every hop",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::p2p, .overlap = false}},
    .facts = {.knob = "extensions.cp_overlap",
              .overlaps = false,
              .purposes = {"kv_ring_hop", "kv_dkv_ring_hop", "dkv_ring_hop"}},
    .make = make_of<RingAttention, Waits::at_once>,
}};

}  // namespace
}  // namespace underlap::cp
