// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// out[t] = word[tokens[t]] + position[t % S]: token embedding plus learned position embedding.
///
/// tokens    [1, T] i32, each in [0, V); T is a whole number of sequences
/// word      [V, H] bf16
/// position  [S, H] bf16, S the sequence length
/// out       [T, H] bf16, rounded once
/// Throws std::invalid_argument for shapes that do not fit; the form throws it for a token outside [0, V).
/// Source: Radford et al. 2018, h_0. Traffic: 4 T + 2 (2 T H + S H) bytes.
Operation embedding_forward(const View& tokens, const View& word, const View& position, const View& out);

/// dword[tokens[t]] += dout[t] and dposition[t % S] += dout[t].
///
/// tokens     [1, T] i32, each in [0, V)
/// dout       [T, H] bf16
/// dword      [V, H] f32 or bf16, added to
/// dposition  [S, H] f32 or bf16, added to
/// The rows of dout that meet in one row are summed in fp32 in token order; the sum is added once.
/// Throws as embedding_forward does. Traffic counts only the rows of dword that T tokens can touch.
Operation embedding_wgrad(const View& tokens, const View& dout, const View& dword, const View& dposition);

}  // namespace underlap::kernels
