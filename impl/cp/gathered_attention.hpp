// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "impl/cp/tiles.hpp"
#include "impl/cp/waits.hpp"

namespace underlap::cp {

/// Attention over keys and values gathered from all ranks: all_gather_attention and waited_all_gather_attention.
///
/// The two chunks of this rank's queries are tiles of their own: chunk j sees the first j+1 chunks of keys, its own
/// last. Keys and values are not kept for backward, which gathers them again.
class GatheredAttention final : public Attention {
 public:
  GatheredAttention(const Context& context, Waits waits);

  std::unique_ptr<Saved> allocate_saved() override;
  void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) override;
  void backward(const Tag& tag, const Qkv& in, const View& out, const View& d_out, const Qkv& d_in,
                Saved& saved) override;

 private:
  struct Kept;
  /// One tensor of keys or values, or its gradient, on its way between one rank and all.
  struct Staging {
    View here;           // [T, G D] bf16
    View in_rank_order;  // [c T, G D] bf16
    View whole;          // [c T, G D] bf16, in sequence order
  };

  Staging allocate_staging() const;
  View allocate_whole(std::string_view name) const;
  Tile tile_of(std::int32_t half) const;
  void gather(const Tag& tag, const Qkv& in);
  void scatter(const Tag& tag, const Qkv& d_in);
  void transfer(const Tag& tag, NameId purpose, Collective collective);
  void add_tiles(const Tag& tag);

  Channels& channels_;
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

}  // namespace underlap::cp
