// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "impl/cp/tiles.hpp"
#include "impl/cp/waits.hpp"

namespace underlap::cp {

/// Attention whose keys and values go round a ring: p2p_attention and waited_p2p_attention, which say when.
///
/// Forward, step i: this rank's queries against the keys of rank r-i, while those of r-i-1 arrive from rank r-1. Each
/// step has a result and a log-sum of its own; the log-sums are merged as steps end, the results once all are there.
/// Backward, step i: the other way round, from rank r+1's keys, which came last in forward, to this rank's own. The
/// gradients of keys and values follow one step behind the keys that they belong to, and gather a term on each rank.
class RingAttention final : public Attention {
 public:
  RingAttention(const Context& context, Waits waits);

  std::unique_ptr<Saved> allocate_saved() override;
  void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) override;
  void backward(const Tag& tag, const Qkv& in, const View& out, const View& d_out, const Qkv& d_in,
                Saved& saved) override;

 private:
  /// Keys and values, or their gradients, in one piece that can be sent.
  struct Pair {
    View both;  // [1, 2 T G D]
    View k;     // [T, G D]
    View v;     // [T, G D]
  };
  struct Kept;
  /// The result of one step of forward.
  struct Step {
    View out;  // [T, A D] bf16
    View lse;  // [A, T] f32
  };
  struct Moment {
    Stream stream;
    Event event;
  };

  Pair pair_in(const Tensor& tensor, std::int64_t offset) const;
  Pair allocate_pair(std::string_view name) const;
  Stream stream_of(std::int32_t step) const { return streams_[static_cast<std::size_t>(step) % 2]; }
  std::int32_t source_of(std::int32_t step) const { return (me_ - step + size_) % size_; }
  Tile tile_of(std::int32_t step) const { return zigzag_tile(shape_, me_, source_of(step)); }
  const Pair& keys_of(std::int32_t step, const Kept& kept) const;
  void after(Stream stream, const Moment& moment) const;

  Event hop_forward(const Tag& tag, std::int32_t step, const Kept& kept);
  Moment merge(const Tag& tag, std::int32_t step, const View& lse, const Moment& merged_before);
  void correct(const Tag& tag, const View& lse, const View& out);

  struct BackwardStep;
  Event hop_backward(const Tag& tag, std::int32_t step, const Kept& kept);
  void add_kv(const Tag& tag, const BackwardStep& step, const Qkv& d_in);
  void add_q(const Tag& tag, const BackwardStep& step, const Qkv& d_in);

  Channels& channels_;
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

}  // namespace underlap::cp
