// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"
#include "kernels/random/random_parameters.hpp"

namespace underlap::kernels {

/// out[i] = stddev * (the normal deviate number first_index + i of the stream `seed`), i counting row-major.
///
/// out  [R, C] f32 or bf16; the bf16 values are the f32 values rounded
/// The generator is counter-based, so a shard filled from its own first_index equals the slice of the whole.
/// Throws std::invalid_argument for another type, first_index < 0 or stddev < 0. Traffic: out once.
/// Source: Philox 4x32-10, Salmon et al. 2011; Box & Muller 1958.
Operation random_normal(const View& out, std::uint64_t seed, std::int64_t first_index, double stddev);

/// The same where `out` is a stretch of a block of a larger matrix: what the whole matrix has there, however it was
/// cut. Element i of `out` is element k = first_index + i of the block, and so the deviate number block.first + k /
/// block.local_cols * block.whole_cols + k % block.local_cols.
///
/// out  [R, C] f32 or bf16, i counting row-major
/// Throws as random_normal does, and unless the block's rows lie in the matrix's. Traffic: out once.
Operation random_normal_block(const View& out, std::uint64_t seed, std::int64_t first_index, double stddev,
                              const MatrixBlock& block);

}  // namespace underlap::kernels
