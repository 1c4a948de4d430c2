// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/cp/tiles.hpp"
#include "impl/cp/waits.hpp"

namespace underlap::cp {

/// All-to-alls of a group of n ranks between two ways to share tensors of T tokens a rank, all bf16:
///
///     by tokens  [T, n C]: this rank's tokens, all heads
///     by heads   [n T, C]: all tokens in sequence order, this rank's heads
///
/// A tensor is reordered on the compute stream, sent, and reordered again on the second one, while the next begins.
class HeadExchange {
 public:
  /// `features` of the tensors that are exchanged at a time, n C each: the largest in each place. `channels` outlives
  /// this.
  HeadExchange(Channels& channels, Waits waits, const AttentionShape& shape, std::span<const std::int64_t> features);

  struct Move {
    View from;
    View to;
  };
  /// From tokens to heads, and back. All of them lie between what the compute stream holds and what it is given next.
  void to_heads(const Tag& tag, NameId purpose, std::span<const Move> moves);
  void to_tokens(const Tag& tag, NameId purpose, std::span<const Move> moves);

 private:
  struct Way;
  struct Staging {
    Tensor sent;
    Tensor received;
  };

  void exchange(const Tag& tag, NameId purpose, std::span<const Move> moves, const Way& way);

  Channels& channels_;
  Device& device_;
  Waits waits_;
  std::int64_t sequences_;
  Scope scope_;
  Communicator communicator_;
  Stream second_;
  std::vector<Staging> staging_;
};

/// Attention with all tokens and a part of the heads: a2a_attention, a2a_p2p_attention and their plain forms.
///
/// `ranks_inside` neighbours exchange heads for tokens; what they then hold is attended to by whatever the groups
/// around them need: nothing more where they are one, or a ring.
class ExchangedAttention final : public Attention {
 public:
  /// `resends_out`: backward exchanges the output again in place of keeping it.
  /// Throws std::invalid_argument unless ranks_inside divides the key/value heads.
  ExchangedAttention(const Context& context, Waits waits, std::int32_t ranks_inside, bool resends_out);

  std::unique_ptr<Saved> allocate_saved() override;
  void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) override;
  void backward(const Tag& tag, const Qkv& in, const View& out, const View& d_out, const Qkv& d_in,
                Saved& saved) override;

 private:
  struct Kept;

  View allocate(std::string_view name, std::int64_t features) const;
  Qkv allocate_qkv(std::string_view name) const;
  const View& out_of(const Kept& kept) const;

  Device& device_;
  AttentionShape inner_shape_;
  bool resends_out_;
  HeadExchange exchange_;
  std::unique_ptr<Attention> inner_;
  View out_;    // [n T, A/n D], where it is not kept
  View d_out_;  // [n T, A/n D]
  Qkv d_qkv_;
};

}  // namespace underlap::cp
