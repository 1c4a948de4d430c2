// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/operation.hpp"

namespace underlap::kernels {

// Of c context-parallel ranks each holds two of the 2c chunks of a sequence, r and 2c-1-r, so that all have the same
// number of causal pairs:
//
//     sequence  | 0 | 1 | 2 | 3 |        rank 0: 0 3    rank 1: 1 2          (c = 2)
//
// Rows in rank order are what an all-gather over the ranks leaves, [c][sequences][2][S/2c]; in sequence order they are
// [sequences][S].

/// out = the rows of x, from rank order into sequence order. One rank: a copy.
///
/// x, out     [R, C] of one type, whichever it is; either may be strided
/// sequences  R is a multiple of 2 * ranks * sequences, and under 2^31
/// ranks      c
/// Throws std::invalid_argument for shapes or types that do not fit. Traffic: x and out once.
/// Source: Brandon et al. 2023 (striped and balanced splits); Megatron-LM cuts sequences in these chunks.
Operation to_sequence_order(const View& x, const View& out, std::int64_t sequences, std::int64_t ranks);

/// The inverse of to_sequence_order: out = the rows of x, from sequence order into rank order.
Operation to_rank_order(const View& x, const View& out, std::int64_t sequences, std::int64_t ranks);

}  // namespace underlap::kernels
