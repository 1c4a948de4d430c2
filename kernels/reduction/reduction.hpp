// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// out += sum of x * x, accumulated in fp64 and added to out once.
///
/// x    [R, C] f32 or bf16
/// out  [1, 1] f32, added to
/// Throws std::invalid_argument for shapes that do not fit. Traffic: x once.
Operation sum_of_squares(const View& x, const View& out);

/// The same over some ranges of a row: out += sum over k of the squares of x[ranges[k, 0]] up to x[ranges[k, 1]].
///
/// x       [1, C] f32 or bf16
/// ranges  [n, 2] f64, dense, whole numbers: begin and end of each, in order within [0, C]; where begin == end a range
///         is empty
/// out     [1, 1] f32, added to
/// Throws std::invalid_argument for shapes that do not fit. Traffic: x and ranges once, as if all of x were in a range.
Operation sum_of_squares_in(const View& x, const View& ranges, const View& out);

/// factor = min(1, max_norm / (sqrt(sum) + 1e-6)): what a gradient is multiplied by to keep its norm within max_norm.
///
/// sum, factor  [1, 1] f32
/// max_norm     bound of the norm; 0: no clipping, factor is 1
/// A sum that is not finite gives a factor that is not finite with max_norm > 0, so that the optimizer notices.
/// Throws std::invalid_argument for max_norm < 0 or shapes that do not fit. Source: Pascanu et al. 2013, algorithm 1.
Operation clip_factor(const View& sum_of_squares, const View& factor, double max_norm);

/// out = factor * (sum over n slots of slots[i]), summed in fp32 in slot order and rounded once.
///
/// slots  [n, e] bf16 or f32, what each of n ranks contributed
/// out    [1, e] bf16 or f32
/// Throws std::invalid_argument for shapes that do not fit. Traffic: slots and out once.
Operation sum_slots(const View& slots, const View& out, double factor);

/// out = sum over n slots of slots[i] * inverse_scales[i], summed in fp32 in slot order and rounded once: what each of
/// n ranks contributed in fp8, under a scale of its own.
///
/// slots           [n R, C] f8e4m3 or f8e5m2: slot i has R rows from i R on
/// inverse_scales  [1, n] f32, dense
/// out             [R, C] bf16 or f32
/// Throws std::invalid_argument for shapes that do not fit. Traffic: slots and out once.
Operation sum_fp8_slots(const View& slots, const View& inverse_scales, const View& out);

}  // namespace underlap::kernels
