// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "impl/device/device.hpp"

namespace underlap {

/// How reduce_in_rank_order combines.
struct Reduction {
  DataType dtype = DataType::bf16;  ///< of every source and of out: f32 or bf16
  Accumulator accumulator = Accumulator::wire;
  ReduceOp op = ReduceOp::sum;
};

/// out[i] = sources[0][i] + sources[1][i] + ..., added in this order, so that the result depends on the order of the
/// ranks alone and not on how a buffer was cut into pieces.
///
/// sources, out  `elements` elements of reduction.dtype each, dense, aligned to the type; one source per rank.
///               out may be exactly one of the sources; otherwise it overlaps none of them.
/// wire          the first value is taken as it is, and the sum is rounded to bf16 after every addition.
/// fp32          partial sums are fp32 and rounded once. For f32 both accumulators are the same arithmetic.
/// average       wire: every source is multiplied by 1/n before it is added; 1/n and the products are rounded to the
///               wire's type. fp32: the sum is multiplied by fp32(1/n) before its one rounding. The two agree up to
///               rounding, and where n is a power of two neither multiplication rounds (but for subnormals).
/// max           the largest of the sources, not rounded; a NaN is skipped if another source has a number.
/// Throws std::invalid_argument without a source, for negative `elements`, and for another type.
/// Source: NCCL's ncclAvg of floating-point types is its PreMulSum with the scalar in the wire's type (src/enqueue.cc,
/// hostToDevRedOp), and its ncclMax is fmaxf; Megatron's reduce_scatter_with_fp32_accumulation sums what an all-to-all
/// brought in fp32 and rounds once, and has no average.
void reduce_in_rank_order(std::span<const std::byte* const> sources, const Reduction& reduction, std::int64_t elements,
                          std::byte* out);

}  // namespace underlap
