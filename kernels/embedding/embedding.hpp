// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"
#include "kernels/vocab_shard.hpp"

namespace underlap::kernels {

/// The token ids to embed, and the position of each token in its sequence.
struct EmbeddedTokens {
  EmbeddedTokens(const View& whole_sequences) : tokens(whole_sequences) {}
  EmbeddedTokens(const View& any_tokens, const View& their_positions)
      : tokens(any_tokens), positions(their_positions) {}

  View tokens;     ///< [1, T] i32, each in [0, V)
  View positions;  ///< [1, T] i32, each in [0, S): of tokens that are a part of their sequences. Empty: t % S, and then
                   ///< T is a whole number of sequences

  bool has_positions() const { return positions.elements() > 0; }
};

/// out[t] = word[tokens[t]] + position[positions[t]]: token embedding plus learned position embedding, where there is
/// one.
///
/// in        T tokens
/// word      [V, H] bf16, or the rows of `shard`
/// position  [S, H] bf16, S the sequence length; empty: nothing is added, and in.positions are empty too
/// out       [T, H] bf16, rounded once; rows whose token lies outside `shard` are zero, without position, so that the
///           sum of the shards' results is what the whole table gives, to the bit
/// Throws std::invalid_argument for shapes that do not fit; the implementation throws it for a token outside [0, V) and
/// a position outside [0, S). Source: Radford et al. 2018, h_0. Traffic: 4 T + 2 (2 T H + S H) bytes, with positions 4
/// T more and at most T rows of position; of a shard, its share of the T rows of word.
Operation embedding_forward(const EmbeddedTokens& in, const View& word, const View& position, const View& out,
                            const VocabShard& shard = {});

/// dword[tokens[t]] += dout[t] and dposition[positions[t]] += dout[t].
///
/// in         T tokens
/// dout       [T, H] bf16
/// dword      [V, H] f32 or bf16, or the rows of `shard`; added to, by tokens inside the shard
/// dposition  [S, H] f32 or bf16, added to by all tokens; empty where there is no such table
/// The rows of dout for one row of a table are summed in fp32 in token order; the sum is added once.
/// Throws as embedding_forward does. Traffic counts only the rows of dword and dposition that T tokens can touch.
Operation embedding_wgrad(const EmbeddedTokens& in, const View& dout, const View& dword, const View& dposition,
                          const VocabShard& shard = {});

}  // namespace underlap::kernels
