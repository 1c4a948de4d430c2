// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// out = x in out's type: f32 to bf16 rounds to nearest, ties to even; bf16 to f32 is exact.
///
/// x, out  [R, C], one f32 and the other bf16
/// Throws std::invalid_argument for other types or unequal shapes. Traffic: 6 R C bytes.
Operation cast(const View& x, const View& out);

}  // namespace underlap::kernels
