// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// out = a + b, added in fp32 and rounded once. All [R, C] bf16. Traffic: 6 R C bytes.
/// Throws std::invalid_argument for shapes that do not fit.
Operation residual_add(const View& a, const View& b, const View& out);

/// sum += x, added in fp32 and rounded once. Both [R, C] bf16. Traffic: 6 R C bytes.
/// Throws std::invalid_argument for shapes that do not fit.
Operation accumulate(const View& x, const View& sum);

/// x *= factor, in fp32 and rounded once. x [R, C] f32 or bf16. Traffic: x twice.
/// Throws std::invalid_argument for another type.
Operation scale(const View& x, double factor);

/// x = value, converted to x's type. x [R, C] of any type. Traffic: x once.
Operation fill(const View& x, double value);

}  // namespace underlap::kernels
