// SPDX-License-Identifier: Apache-2.0
//
// Exchanges tokens for heads: all-to-alls give each rank all tokens of some heads, which is all that attention needs.
//
//   compute    | q | k | v |                 | attention | out |       |
//   cp_compute |       | q | k     | v   |               |     |     | out |
//   cp         |   | q    | k    | v    |                      | out |
//
// A letter on compute is a tensor that is reordered to be sent; on cp_compute it is one that is put in its place.
// Backward exchanges the gradient of the output, then computes attention, then exchanges the gradients of q, k and v.
// It transfers as many bytes as forward.
//
// blocking_a2a_attention waits for every all-to-all, so no reordering overlaps with one:
//
//   compute | q |     | k |     | q | v |     | k | v | attention | out |     | out |
//   cp      |   | q   |   | k   |       | v   |                         | out |
//
// a2a_p2p_attention exchanges inside groups of neighboring ranks. Each group then holds two consecutive ranges of
// every sequence, chunks of a zigzag over groups. The ring of p2p_attention runs across the groups. The all-to-alls
// stay where links are fast, and the ring has fewer and longer hops. Backward exchanges the output again, at the same
// time as its gradient.
//
//   compute    | q | k | v |            | kv | tile 0 |          | corrections | out |      |
//   cp_compute |       | q | k    | v   |       | tile 1 | merge |                   | out |
//   cp_a2a     |   | q   | k   | v  |                                              | out |
//   cp_around_ring                      |    | hop 0 |
//
// blocking_a2a_p2p_attention waits for each transfer of either kind:
//
//   compute        | q |     | k |     | q | v |     | k | v | kv |       | tile 0 | tile 1 | merge | ... | out |
//   cp_a2a         |   | q   |   | k   |       | v   |                                                    | out |
//   cp_around_ring |                                              | hop 0 |
//
// Exposed: every all-to-all, since only the reordering of another tensor overlaps with it. The ring exposes the time by
// which a hop is longer than the tile during it, or every hop if hops are waited for.
// Source: Jacobs et al. 2023 (DeepSpeed-Ulysses); Fang & Zhao 2024 (unified sequence parallelism); Transformer Engine's
// context parallelism, cp_comm_type a2a and a2a+p2p.
#include <fmt/format.h>

#include <array>
#include <span>
#include <vector>

#include "impl/cp/tiles.hpp"
#include "impl/plan/config.hpp"
#include "kernels/head_blocks/head_blocks.hpp"
#include "kernels/zigzag/zigzag.hpp"

namespace underlap::cp {
namespace {

/// All-to-alls of a group of n ranks between two ways to share tensors of T tokens a rank, all bf16:
///
///     by tokens  [T, n C]: this rank's tokens, all heads
///     by heads   [n T, C]: all tokens in sequence order, this rank's heads
///
/// A tensor is reordered on the compute stream, sent, and reordered again on the second one, while the next begins.
class HeadExchange {
 public:
  /// `features` of the tensors that are exchanged at a time, n C each: the largest in each place. `communicators`
  /// outlives this.
  HeadExchange(Communicators& communicators, Waits waits, const AttentionShape& shape,
               std::span<const std::int64_t> features)
      : communicators_(communicators),
        device_(communicators.device()),
        waits_(waits),
        sequences_(shape.sequences),
        scope_(communicators.scope()),
        communicator_(communicators.collectives()),
        second_(waits == Waits::at_once ? communicators.compute() : communicators.second_compute()) {
    for (const std::int64_t f : features)
      staging_.push_back({.sent = device_.allocate("cp_sent", DataType::bf16, shape.tokens() * f),
                          .received = device_.allocate("cp_received", DataType::bf16, shape.tokens() * f)});
  }

  struct Move {
    View from;
    View to;
  };
  /// From tokens to heads, and back. All of them lie between what the compute stream holds and what it is given next.
  void to_heads(const Tag& tag, NameId purpose, std::span<const Move> moves) {
    static const Way kWay{
        .before = intern("heads_to_blocks"), .after = intern("to_sequence_order"), .is_to_heads = true};
    exchange(tag, purpose, moves, kWay);
  }

  void to_tokens(const Tag& tag, NameId purpose, std::span<const Move> moves) {
    static const Way kWay{.before = intern("to_rank_order"), .after = intern("blocks_to_heads"), .is_to_heads = false};
    exchange(tag, purpose, moves, kWay);
  }

 private:
  // How rows and columns are reordered before and after the transfer.
  struct Way {
    NameId before;
    NameId after;
    bool is_to_heads;
  };
  struct Staging {
    Tensor sent;
    Tensor received;
  };

  void exchange(const Tag& tag, NameId purpose, std::span<const Move> moves, const Way& way) {
    const std::int32_t ranks = communicators_.group().size();
    std::vector<Event> arrived;
    const auto buffer = [&](const Tensor& tensor, const Move& move) {  // [n T, C]
      const View& by_heads = way.is_to_heads ? move.to : move.from;
      return matrix(tensor, by_heads.rows, by_heads.cols);
    };
    const auto send = [&](const Move& move, const Staging& staging) {
      const View sent = buffer(staging.sent, move);
      scope_.launch(tag, Kind::copy, way.before,
                    way.is_to_heads ? kernels::heads_to_blocks(move.from, sent)
                                    : kernels::to_rank_order(move.from, sent, sequences_, ranks));
      scope_.fork({communicator_.stream});
      const Transfer transfer{
          .collective = Collective::all_to_all, .input = sent, .output = buffer(staging.received, move)};
      arrived.push_back(scope_.communicate(communicator_, tag, purpose, {&transfer, 1}));
      if (waits_ == Waits::at_once) device_.throttle(communicators_.compute(), arrived.back());
    };
    const auto take = [&](const Move& move, const Staging& staging, Event event) {
      device_.wait(second_, event);
      const View received = buffer(staging.received, move);
      scope_.launch(second_, tag, Kind::copy, way.after,
                    way.is_to_heads ? kernels::to_sequence_order(received, move.to, sequences_, ranks)
                                    : kernels::blocks_to_heads(received, move.to));
    };
    for (std::size_t i = 0; i <= moves.size(); ++i) {
      if (i < moves.size()) send(moves[i], staging_.at(i));
      if (i > 0) take(moves[i - 1], staging_[i - 1], arrived[i - 1]);
    }
    scope_.join({second_});
  }

  Communicators& communicators_;
  Device& device_;
  Waits waits_;
  std::int64_t sequences_;
  Scope scope_;
  Communicator communicator_;
  Stream second_;
  std::vector<Staging> staging_;
};

AttentionShape shape_by_heads(const AttentionShape& shape, std::int32_t ranks) {
  if (shape.groups % ranks != 0)
    throw std::invalid_argument(
        fmt::format("context parallelism: the {} ranks of an all-to-all must divide the {} key/value heads per rank",
                    ranks, shape.groups));
  AttentionShape part = shape;
  part.seq_here *= ranks;
  part.heads /= ranks;
  part.groups /= ranks;
  return part;
}

std::array<std::int64_t, 3> places(const AttentionShape& shape, bool resends_out) {
  return {shape.query_features(), resends_out ? shape.query_features() : shape.kv_features(), shape.kv_features()};
}

std::int32_t ranks_inside(const Context& context, bool has_ring) {
  if (!has_ring) return context.communicators->group().size();
  return context.config->context.hierarchical_context_parallel_sizes.value().front();
}

/// Attention with all tokens and a part of the heads.
///
/// `ranks_inside` neighbors exchange tokens for heads. The groups around them then compute attention on the result:
/// locally if there is one group, otherwise by a ring.
class ExchangedAttention final : public Attention {
 public:
  /// `has_ring`: with a ring across the inner groups of hierarchical_context_parallel_sizes; backward then exchanges
  /// the output again in place of keeping it.
  /// Throws std::invalid_argument unless the ranks of a group divide the key/value heads.
  ExchangedAttention(const Context& context, Waits waits, bool has_ring)
      : device_(context.communicators->device()),
        inner_shape_(shape_by_heads(context.shape, ranks_inside(context, has_ring))),
        resends_out_(has_ring),
        exchange_(*context.communicators->parts(ranks_inside(context, has_ring)).inside, waits, context.shape,
                  places(context.shape, has_ring)),
        inner_(make_attention({.communicators = context.communicators->parts(ranks_inside(context, has_ring)).around,
                               .config = context.config,
                               .shape = inner_shape_,
                               .comm_type = plan::CpCommType::p2p})),
        d_out_(allocate("cp_d_out", inner_shape_.query_features())),
        d_qkv_(allocate_qkv("cp_d_qkv")) {
    if (resends_out_) out_ = allocate("cp_out", inner_shape_.query_features());
  }

  std::unique_ptr<Saved> allocate_saved() override {
    auto kept = std::make_unique<Kept>();
    kept->qkv = allocate_qkv("cp_kept_qkv");
    if (!resends_out_) kept->out = allocate("cp_kept_out", inner_shape_.query_features());
    kept->inner = inner_->allocate_saved();
    return kept;
  }

  void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) override {
    static const NameId kIn = intern("qkv_all_to_all"), kOut = intern("out_all_to_all");
    auto& kept = static_cast<Kept&>(saved);
    const HeadExchange::Move moves[] = {{in.q, kept.qkv.q}, {in.k, kept.qkv.k}, {in.v, kept.qkv.v}};
    exchange_.to_heads(tag, kIn, moves);
    inner_->forward(tag, kept.qkv, out_of(kept), *kept.inner);
    const HeadExchange::Move back{out_of(kept), out};
    exchange_.to_tokens(tag, kOut, {&back, 1});
  }

  void backward(const Tag& tag, const Qkv& /*in*/, const View& out, const View& d_out, const Qkv& d_in,
                Saved& saved) override {
    static const NameId kIn = intern("dout_all_to_all"), kOut = intern("dqkv_all_to_all");
    auto& kept = static_cast<Kept&>(saved);
    const HeadExchange::Move moves[] = {{d_out, d_out_}, {out, out_}};
    exchange_.to_heads(tag, kIn, std::span(moves).first(resends_out_ ? 2 : 1));
    inner_->backward(tag, kept.qkv, out_of(kept), d_out_, d_qkv_, *kept.inner);
    const HeadExchange::Move back[] = {{d_qkv_.q, d_in.q}, {d_qkv_.k, d_in.k}, {d_qkv_.v, d_in.v}};
    exchange_.to_tokens(tag, kOut, back);
  }

 private:
  struct Kept final : Saved {
    Qkv qkv;   // by heads
    View out;  // by heads; empty where backward exchanges it again
    std::unique_ptr<Saved> inner;
  };

  View allocate(std::string_view name, std::int64_t features) const {
    return allocate_matrix(device_, name, DataType::bf16, inner_shape_.tokens(), features);
  }

  Qkv allocate_qkv(std::string_view name) const {
    return {.q = allocate(name, inner_shape_.query_features()),
            .k = allocate(name, inner_shape_.kv_features()),
            .v = allocate(name, inner_shape_.kv_features())};
  }

  const View& out_of(const Kept& kept) const { return resends_out_ ? out_ : kept.out; }

  Device& device_;
  AttentionShape inner_shape_;
  bool resends_out_;
  HeadExchange exchange_;
  std::unique_ptr<Attention> inner_;
  View out_;    // [n T, A/n D], where it is not kept
  View d_out_;  // [n T, A/n D]
  Qkv d_qkv_;
};

const Attentions::Register kRegistered{{
    .name = "a2a_attention",
    .summary = "exchanges heads for tokens, each tensor while the next is reordered; exchanges back after attention",
    .exposed = "every all-to-all",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a, .overlap = true}},
    .facts = {.knob = "extensions.cp_overlap",
              .purposes = {"qkv_all_to_all", "out_all_to_all", "dout_all_to_all", "dqkv_all_to_all"}},
    .make = make_of<ExchangedAttention, Waits::where_needed, false>,
}};

const Attentions::Register kBlocking{{
    .name = "blocking_a2a_attention",
    .summary = "exchanges heads for tokens and waits for each tensor; exchanges back after attention",
    .exposed = "every all-to-all",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a, .overlap = false}},
    .facts = {.knob = "extensions.cp_overlap",
              .overlaps = false,
              .purposes = {"qkv_all_to_all", "out_all_to_all", "dout_all_to_all", "dqkv_all_to_all"}},
    .make = make_of<ExchangedAttention, Waits::at_once, false>,
}};

const Attentions::Register kAround{{
    .name = "a2a_p2p_attention",
    .summary = "exchanges heads for tokens inside groups of neighbors, then passes keys and values around the groups",
    .exposed = "every all-to-all, and the time by which a hop exceeds the concurrent attention tile",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a_p2p, .overlap = true}},
    .facts = {.knob = "extensions.cp_overlap",
              .purposes = {"qkv_all_to_all", "out_all_to_all", "dout_all_to_all", "dqkv_all_to_all", "kv_ring_hop",
                           "kv_dkv_ring_hop", "dkv_ring_hop"}},
    .make = make_of<ExchangedAttention, Waits::where_needed, true>,
}};

const Attentions::Register kBlockingAround{{
    .name = "blocking_a2a_p2p_attention",
    .summary =
        "exchanges heads for tokens inside groups, passes keys and values around them, and waits for each transfer",
    .exposed = "every all-to-all and every hop",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::a2a_p2p, .overlap = false}},
    .facts = {.knob = "extensions.cp_overlap",
              .overlaps = false,
              .purposes = {"qkv_all_to_all", "out_all_to_all", "dout_all_to_all", "dqkv_all_to_all", "kv_ring_hop",
                           "kv_dkv_ring_hop", "dkv_ring_hop"}},
    .make = make_of<ExchangedAttention, Waits::at_once, true>,
}};

}  // namespace
}  // namespace underlap::cp
