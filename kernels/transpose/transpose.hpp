// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// out = x^T, bit for bit.
///
/// x    [R, C] of any type whose elements are one or two bytes
/// out  [C, R] of the same type
/// Throws std::invalid_argument for wider elements or shapes that do not fit. Traffic: x and out once.
Operation transpose(const View& x, const View& out);

}  // namespace underlap::kernels
