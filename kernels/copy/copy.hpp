// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// out = x, bit for bit.
///
/// x, out  [R, C] of one type, whichever it is; either may be strided
/// Throws std::invalid_argument for shapes or types that differ. Traffic: x and out once.
Operation copy(const View& x, const View& out);

/// As many pieces as concatenate takes.
inline constexpr std::size_t kMaxPieces = Operation::kMaxUses - 1;

/// out = the elements of all pieces, one piece after the other, each row by row.
///
/// pieces  1 to kMaxPieces of any shapes and one type, whichever it is; each may be strided
/// out     [1, sum of the pieces' elements] of that type
/// Throws std::invalid_argument for another number of pieces, and shapes or types that do not fit.
/// Traffic: the pieces and out once.
Operation concatenate(std::span<const View> pieces, const View& out);

}  // namespace underlap::kernels
