// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

// Rotary position embedding: the first R features of each head are R/2 pairs (i, i + R/2), and pair i of a token at
// position p is turned by the angle p * base^(-2 i / R). Features from R on stay as they are.

/// Cosines and sines of consecutive positions: row r is of position first_position + r, columns [0, R/2) are the
/// cosines of its R/2 angles, columns [R/2, R) their sines.
///
/// table           [P, R] f32, R even
/// first_position  at least 0
/// base            of the frequencies, above 0
/// Computed in fp64 and rounded once. Throws std::invalid_argument for shapes and values that do not fit.
/// Source: Su et al. 2021, eq. 15. Traffic: table once.
Operation rope_table(const View& table, std::int64_t first_position, double base);

/// Turns each pair (a, b) to (a cos - b sin, b cos + a sin), in fp32 and rounded once.
///
/// x          [T, A D] bf16, changed in place; may be columns of a wider tensor
/// table      [S, R] f32 of rope_table, dense; token t has row t % S: T is a whole number of sequences
/// head_size  D, at least R
/// Throws std::invalid_argument for shapes that do not fit. 3 flops and 4 bytes an element that turns, and the table.
/// Source: Su et al. 2021, eq. 34, with the pairs of GPT-NeoX, as Megatron Core has them without rotary_interleaved and
/// Transformer Engine in its fused kernel, which reads a table of the same size. That one writes a tensor of its own,
/// and so moves the features that do not turn, too.
Operation rope_forward(const View& x, const View& table, std::int64_t head_size);

/// The gradient of rope_forward's input from that of its output: the same by the negative angles, in place.
Operation rope_backward(const View& dx, const View& table, std::int64_t head_size);

}  // namespace underlap::kernels
