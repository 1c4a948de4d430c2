// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

// What an all-to-all sends to one rank lies in one piece; heads of a token lie side by side. Between the two, columns
// become blocks of rows, one for each rank:
//
//     x  | 0 | 1 |      out  | 0 |
//        | 0 | 1 |           | 0 |
//                            | 1 |
//                            | 1 |

/// Block j of out, its rows from j T on, = columns j C to (j + 1) C of x.
///
/// x    [T, n C] of any type
/// out  [n T, C] of that type
/// Either may be strided. Throws std::invalid_argument for shapes or types that do not fit. Traffic: x and out once.
/// Source: Jacobs et al. 2023 (DeepSpeed-Ulysses), figure 2, for the exchange that it serves.
Operation heads_to_blocks(const View& x, const View& out);

/// The inverse of heads_to_blocks: x [n T, C] becomes out [T, n C].
Operation blocks_to_heads(const View& x, const View& out);

}  // namespace underlap::kernels
