// SPDX-License-Identifier: Apache-2.0
#include "impl/cp/tiles.hpp"

namespace underlap::cp {

Tile zigzag_tile(const AttentionShape& shape, std::int32_t rank, std::int32_t source) {
  const std::int64_t all = shape.seq_here, half = all / 2;
  if (source == rank) return {.queries = {0, all}, .keys = {0, all}, .causal = true};
  if (source < rank) return {.queries = {0, all}, .keys = {0, half}, .causal = false};
  return {.queries = {half, half}, .keys = {0, all}, .causal = false};
}

// One part where the tile is all of every sequence, else one for each sequence.
template <class Tensors, class Launch>
void Tiles::for_each_part(const Tile& tile, const Tensors& whole, Launch launch) const {
  const bool is_all = tile.queries.num == shape_.seq_here && tile.keys.num == kv_here_;
  const std::int64_t at_once = is_all ? shape_.sequences : 1;
  for (std::int64_t s = 0; s < shape_.sequences; s += at_once) {
    const Rows q{s * shape_.seq_here + tile.queries.first, at_once * tile.queries.num};
    const Rows kv{s * kv_here_ + tile.keys.first, at_once * tile.keys.num};
    Tensors part = whole;
    part.q = rows_of(whole.q, q.first, q.num);
    part.k = rows_of(whole.k, kv.first, kv.num);
    part.v = rows_of(whole.v, kv.first, kv.num);
    part.out = rows_of(whole.out, q.first, q.num);
    part.lse = columns_of(whole.lse, q.first, q.num);
    part.seq_length = tile.queries.num;
    part.kv_length = tile.keys.num;
    part.head_size = shape_.head_size;
    part.causal = tile.causal;
    launch(part, q, kv);
  }
}

void Tiles::forward(Stream stream, const Tag& tag, const Tile& tile, const kernels::AttentionForward& whole) const {
  Tag own = tag;
  static const NameId kPurpose = intern("attention_fprop");
  own.purpose = kPurpose;
  for_each_part(tile, whole, [&](const kernels::AttentionForward& part, const Rows&, const Rows&) {
    device_.launch(stream, own, kernels::attention_forward(part));
  });
}

void Tiles::backward(Stream stream, const Tag& tag, const Tile& tile, const kernels::AttentionBackward& whole) const {
  Tag own = tag;
  static const NameId kPurpose = intern("attention_dgrad");
  own.purpose = kPurpose;
  for_each_part(tile, whole, [&](kernels::AttentionBackward part, const Rows& q, const Rows& kv) {
    part.dout = rows_of(whole.dout, q.first, q.num);
    part.dq = rows_of(whole.dq, q.first, q.num);
    part.dk = rows_of(whole.dk, kv.first, kv.num);
    part.dv = rows_of(whole.dv, kv.first, kv.num);
    device_.launch(stream, own, kernels::attention_backward(part));
  });
}

}  // namespace underlap::cp
