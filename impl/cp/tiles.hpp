// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/cp/attention.hpp"
#include "kernels/attention/attention.hpp"

namespace underlap::cp {

/// When a transfer is waited for.
enum class Waits : std::uint8_t {
  where_needed,  ///< by the first that needs what it brings; compute has two streams
  at_once,       ///< before any further compute; compute has one stream
};

/// Consecutive rows of each sequence.
struct Rows {
  std::int64_t first = 0;
  std::int64_t num = 0;
};

/// Calls f(first, num) for the places of `rows` in a tensor of `sequences` times `length` rows: once where they are all
/// of it, else for each sequence.
template <class F>
void for_each_place(std::int64_t sequences, std::int64_t length, const Rows& rows, F f) {
  if (rows.num == length) return f(std::int64_t{0}, sequences * length);
  for (std::int64_t s = 0; s < sequences; ++s) f(s * length + rows.first, rows.num);
}

/// Queries of each sequence against a part of its keys. Causal: the last query sees the last key.
struct Tile {
  Rows queries;
  Rows keys;
  bool causal = true;
};

/// The tile of one rank's queries against the keys of rank `source`, both as a zigzag deals chunks out:
///
///                 keys of r       of s < r        of s > r
///   chunk r      | \     |      | X     |       |       |
///   chunk 2c-1-r | X   \ |      | X     |       | X   X |      \ causal, X all of it
///
/// All tiles after the first have the same number of pairs.
Tile zigzag_tile(const AttentionShape& shape, std::int32_t rank, std::int32_t source);

/// Enqueues a rank's attention tile by tile.
class Tiles {
 public:
  /// `device` outlives this. Of each sequence, `kv_here` rows of keys and values are in one place.
  Tiles(Device& device, const AttentionShape& shape, std::int64_t kv_here)
      : device_(device), shape_(shape), kv_here_(kv_here) {}

  /// The tile of `whole`, whose views are of all sequences; lengths and causal are left out.
  void forward(Stream stream, const Tag& tag, const Tile& tile, const kernels::AttentionForward& whole) const;
  void backward(Stream stream, const Tag& tag, const Tile& tile, const kernels::AttentionBackward& whole) const;

 private:
  template <class Tensors, class Launch>
  void for_each_part(const Tile& tile, const Tensors& whole, Launch launch) const;

  Device& device_;
  AttentionShape shape_;
  std::int64_t kv_here_;
};

}  // namespace underlap::cp
