// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

// Attention of queries over keys that come in tiles: each tile's result is divided by the sum of exponentials of its
// own keys, whose log is its lse. Once lse of all tiles is known, weights exp(lse of a tile - lse) make the tiles'
// results add up to the whole:
//
//     out = sum over tiles of exp(step_lse - lse) * step_out

/// lse = log(exp(lse) + exp(step)): takes in one more tile.
///
/// step, lse  [A, T] f32, finite; both may be columns of wider tensors, such as the later half of a sequence's queries
/// Computed without overflow, as the larger of the two plus log(1 + exp(-their distance)).
/// Throws std::invalid_argument for shapes that do not fit. Traffic: 12 A T bytes.
/// Source: Milakov & Gimelshein 2018, for sums of exponentials that grow.
Operation merge_lse(const View& step, const View& lse);

/// sum += exp(step_lse - lse) * step_out, or = where the tile `is_first` to be added.
///
/// step_out  [T, A D] bf16, of one tile
/// step_lse  [A, T] f32, of that tile; its A determines D
/// lse       [A, T] f32, of all tiles
/// sum       [T, A D] f32, out or added to; what it holds after the last tile is cast to bf16 once
/// All may be strided. Throws std::invalid_argument for shapes that do not fit.
/// Traffic: 6 T A D + 8 A T bytes, and 4 T A D more where it adds.
/// Source: Liu et al. 2023 (ring attention), section 3.
Operation attention_correction(const View& step_out, const View& step_lse, const View& lse, const View& sum,
                               bool is_first);

}  // namespace underlap::kernels
