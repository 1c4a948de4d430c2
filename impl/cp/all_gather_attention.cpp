// SPDX-License-Identifier: Apache-2.0
//
// Gathers keys and values of all ranks, then computes attention of this rank's two chunks of queries concurrently.
//
//   compute    | k v |         | reorder | tile of chunk r      |
//   cp_compute |                         | tile of chunk 2c-1-r |
//   cp         |     | k  | v  |
//
// blocking_all_gather_attention has no second compute stream:
//
//   compute | k v |       | reorder | tile of chunk r | tile of chunk 2c-1-r |
//   cp      |     | k | v |
//
// Backward gathers again, since a gathered sequence is too large to keep for each layer. At its end it reduce-scatters
// the gradients of keys and values.
//
//   compute    | k v |        | reorder | tile of chunk r      |      | sum, reorder |          | copy |
//   cp_compute |                        | tile of chunk 2c-1-r |
//   cp         |     | k | v  |                                       |              | dk | dv  |
//
// Exposed: all collectives. The two tiles run concurrently, which fills tails of waves and hides no communication.
// Source: Dubey et al. 2024 (Llama 3, section 3.3.2); Transformer Engine's context parallelism, cp_comm_type
// all_gather. It adds both tiles' gradients to zeros; here the later tile's, which cover the other's, are the start.
#include <array>

#include "impl/cp/tiles.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/zigzag/zigzag.hpp"

namespace underlap::cp {
namespace {

/// The two chunks of this rank's queries are tiles of their own: chunk j sees the first j+1 chunks of keys, its own
/// last. Keys and values are not kept for backward, which gathers them again.
class GatheredAttention final : public Attention {
 public:
  GatheredAttention(const Context& context, Waits waits)
      : communicators_(*context.communicators),
        device_(communicators_.device()),
        shape_(context.shape),
        me_(communicators_.group().my_index),
        size_(communicators_.group().size()),
        scope_(communicators_.scope()),
        tiles_(device_, shape_, size_ * shape_.seq_here),
        communicator_(communicators_.collectives()),
        streams_{communicators_.compute(),
                 waits == Waits::at_once ? communicators_.compute() : communicators_.second_compute()},
        staging_{allocate_staging(), allocate_staging()},
        d_late_{allocate_whole("cp_d_late"), allocate_whole("cp_d_late")},
        d_early_{allocate_whole("cp_d_early"), allocate_whole("cp_d_early")} {}

  std::unique_ptr<Saved> allocate_saved() override {
    auto kept = std::make_unique<Kept>();
    kept->lse = allocate_matrix(device_, "lse", DataType::f32, shape_.heads, shape_.tokens());
    return kept;
  }

  void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) override {
    gather(tag, in);
    scope_.fork({streams_[1]});
    for (const std::int32_t half : {0, 1})
      tiles_.forward(streams_[static_cast<std::size_t>(half)], tag, tile_of(half),
                     {.q = in.q,
                      .k = staging_[0].whole,
                      .v = staging_[1].whole,
                      .out = out,
                      .lse = static_cast<Kept&>(saved).lse});
    scope_.join({streams_[1]});
  }

  void backward(const Tag& tag, const Qkv& in, const View& out, const View& d_out, const Qkv& d_in,
                Saved& saved) override {
    gather(tag, in);
    scope_.fork({streams_[1]});
    for (const std::int32_t half : {0, 1}) {
      const auto& d_kv = half == 0 ? d_early_ : d_late_;
      tiles_.backward(streams_[static_cast<std::size_t>(half)], tag, tile_of(half),
                      {.q = in.q,
                       .k = staging_[0].whole,
                       .v = staging_[1].whole,
                       .out = out,
                       .lse = static_cast<Kept&>(saved).lse,
                       .dout = d_out,
                       .dq = d_in.q,
                       .dk = d_kv[0],
                       .dv = d_kv[1]});
    }
    scope_.join({streams_[1]});
    add_tiles(tag);
    scatter(tag, d_in);
  }

 private:
  struct Kept final : Saved {
    View lse;  // [A, T] f32
  };
  /// One tensor of keys or values, or its gradient, on its way between one rank and all.
  struct Staging {
    View here;           // [T, G D] bf16
    View in_rank_order;  // [c T, G D] bf16
    View whole;          // [c T, G D] bf16, in sequence order
  };

  Staging allocate_staging() const {
    return {.here = allocate_matrix(device_, "cp_kv_here", DataType::bf16, shape_.tokens(), shape_.kv_features()),
            .in_rank_order = allocate_whole("cp_kv_in_rank_order"),
            .whole = allocate_whole("cp_kv")};
  }

  View allocate_whole(std::string_view name) const {
    return allocate_matrix(device_, name, DataType::bf16, size_ * shape_.tokens(), shape_.kv_features());
  }

  Tile tile_of(std::int32_t half) const {
    const std::int64_t chunk = shape_.seq_here / 2;
    const std::int32_t index = half == 0 ? me_ : 2 * size_ - 1 - me_;
    return {.queries = {half * chunk, chunk}, .keys = {0, (index + 1) * chunk}, .causal = true};
  }

  // Every rank's keys and values, waited for, in sequence order.
  void gather(const Tag& tag, const Qkv& in) {
    static const NameId kCopy = intern("kv_copy_in"), kGather = intern("kv_all_gather"),
                        kReorder = intern("kv_reorder");
    scope_.launch(tag, Kind::copy, kCopy, kernels::copy(in.k, staging_[0].here));
    scope_.launch(tag, Kind::copy, kCopy, kernels::copy(in.v, staging_[1].here));
    transfer(tag, kGather, Collective::all_gather);
    for (const Staging& one : staging_)
      scope_.launch(tag, Kind::copy, kReorder,
                    kernels::to_sequence_order(one.in_rank_order, one.whole, shape_.sequences, size_));
  }

  // Of each rank's gradients of all keys and values the sum over ranks, of those that are here.
  void scatter(const Tag& tag, const Qkv& d_in) {
    static const NameId kCopy = intern("dkv_copy_out"), kScatter = intern("dkv_reduce_scatter"),
                        kReorder = intern("dkv_reorder");
    for (std::size_t i = 0; i < 2; ++i)
      scope_.launch(tag, Kind::copy, kReorder,
                    kernels::to_rank_order(d_late_[i], staging_[i].in_rank_order, shape_.sequences, size_));
    transfer(tag, kScatter, Collective::reduce_scatter);
    scope_.launch(tag, Kind::copy, kCopy, kernels::copy(staging_[0].here, d_in.k));
    scope_.launch(tag, Kind::copy, kCopy, kernels::copy(staging_[1].here, d_in.v));
  }

  // Keys, then values, between `here` and `in_rank_order`.
  void transfer(const Tag& tag, NameId purpose, Collective collective) {
    scope_.fork({communicator_.stream});
    for (const Staging& one : staging_) {
      const bool gathers = collective == Collective::all_gather;
      const Transfer transfer{.collective = collective,
                              .input = gathers ? one.here : one.in_rank_order,
                              .output = gathers ? one.in_rank_order : one.here};
      scope_.communicate(communicator_, tag, purpose, {&transfer, 1});
    }
    scope_.join({communicator_.stream});
  }

  // The later tile has seen all keys that the earlier saw. Keys after its own have no gradient from this rank.
  void add_tiles(const Tag& tag) {
    static const NameId kPurpose = intern("dkv_sum");
    const std::int64_t length = size_ * shape_.seq_here;
    const Rows seen = tile_of(1).keys, unseen{seen.num, length - seen.num};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto launch = [&](const Operation& operation) { scope_.launch(tag, Kind::compute, kPurpose, operation); };
      for_each_place(shape_.sequences, length, tile_of(0).keys, [&](std::int64_t first, std::int64_t num) {
        launch(kernels::accumulate(rows_of(d_early_[i], first, num), rows_of(d_late_[i], first, num)));
      });
      if (unseen.num == 0) continue;
      for_each_place(shape_.sequences, length, unseen, [&](std::int64_t first, std::int64_t num) {
        launch(kernels::fill(rows_of(d_late_[i], first, num), 0));
      });
    }
  }

  Communicators& communicators_;
  Device& device_;
  AttentionShape shape_;
  std::int32_t me_;
  std::int32_t size_;
  Scope scope_;
  Tiles tiles_;
  Communicator communicator_;
  std::array<Stream, 2> streams_;   // of the two tiles
  std::array<Staging, 2> staging_;  // keys, values
  std::array<View, 2> d_late_;      // [c T, G D] bf16: gradients of keys and values of the later tile, then of both
  std::array<View, 2> d_early_;     // [c T, G D] bf16: of the earlier
};

const Attentions::Register kRegistered{{
    .name = "all_gather_attention",
    .summary = "gathers all keys and values, then computes the two chunks of queries concurrently",
    .exposed = "the all-gathers of keys and values (forward and backward), and the reduce-scatters of their gradients",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::all_gather, .overlap = true}},
    .facts = {.knob = "extensions.cp_overlap", .purposes = {"kv_all_gather", "dkv_reduce_scatter"}},
    .make = make_of<GatheredAttention, Waits::where_needed>,
}};

const Attentions::Register kBlocking{{
    .name = "blocking_all_gather_attention",
    .summary = "gathers all keys and values, then computes the two chunks of queries one after the other",
    .exposed = "the all-gathers of keys and values (forward and backward), and the reduce-scatters of their gradients",
    .keys = {{.alone = false, .comm_type = plan::CpCommType::all_gather, .overlap = false}},
    .facts = {.knob = "extensions.cp_overlap", .overlaps = false, .purposes = {"kv_all_gather", "dkv_reduce_scatter"}},
    .make = make_of<GatheredAttention, Waits::at_once>,
}};

}  // namespace
}  // namespace underlap::cp
