// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

// Per-tensor scaling from the current values: amax, then fp8_scale, then quantize. The values of an fp8 tensor are its
// elements times its inverse scale. Formats: Micikevicius et al. 2022, "FP8 formats for deep learning". Recipe:
// Transformer Engine's current scaling.

/// out = max(out, the largest |x|). NaN anywhere in x or out makes out NaN.
///
/// x    [R, C] f32 or bf16
/// out  [1, 1] f32, at least 0 or NaN: fill(out, 0) starts a new one
/// Throws std::invalid_argument for shapes that do not fit. Traffic: x once.
Operation amax(const View& x, const View& out);

/// inverse_scale = amax / the largest finite value of `format`, so that this largest value represents amax.
///
/// amax           [1, k] f32, one for each of k tensors
/// inverse_scale  [k, 1] f32, likewise; may be strided
/// format         f8e4m3 or f8e5m2
/// Where amax is 0, inverse_scale is 1; it is at least the smallest normal float, so that it has a finite reciprocal.
/// Where amax is not finite, inverse_scale is NaN, and so is everything computed from the tensor: a cast that saturates
/// would hide an infinite gradient (Transformer Engine takes 1 there). Throws std::invalid_argument for another format
/// or shapes that do not fit.
Operation fp8_scale(const View& amax, const View& inverse_scale, DataType format);

/// q = x * (1 / inverse_scale), rounded to nearest, ties to even, and saturated; NaN stays NaN. The reciprocal is
/// rounded to fp32 once.
///
/// x              [R, C] f32 or bf16
/// inverse_scale  [1, 1] f32
/// q              [R, C] f8e4m3 or f8e5m2
/// Throws std::invalid_argument for shapes that do not fit. Traffic: x and q once.
Operation quantize(const View& x, const View& inverse_scale, const View& q);

/// out = q * inverse_scale, rounded once where out is bf16.
///
/// q              [R, C] f8e4m3 or f8e5m2
/// inverse_scale  [1, 1] f32
/// out            [R, C] f32 or bf16
/// Throws std::invalid_argument for shapes that do not fit. Traffic: q and out once.
Operation dequantize(const View& q, const View& inverse_scale, const View& out);

}  // namespace underlap::kernels
