// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/tp/technique.hpp"

namespace underlap::tp {

/// Parts of a product that are sent in fp8 to be reduced, each with its own scale, which is sent with it.
///
/// A part's largest magnitude is known only once it is computed. This needs a bf16 copy, and an amax and a cast after
/// the GEMM on its stream. One scale for all ranks would need an all-reduce before anything is sent.
/// Source: current scaling, as for the operands of products. Transformer Engine casts in the GEMM, with a scale from
/// earlier steps (delayed scaling).
class Fp8Parts {
 public:
  /// `num` parts of [rows, cols], of which `num_cast` are made here, the first ones. Allocates on the context's device.
  Fp8Parts(const Context& context, std::int64_t num, std::int64_t num_cast, std::int64_t rows, std::int64_t cols);

  /// Part `i`, [rows, cols] of the context's type, and some after each other.
  View values(std::int64_t i, std::int64_t num = 1) const;
  /// [1, num] f32: of the parts from `i` on.
  View inverse_scales(std::int64_t i, std::int64_t num = 1) const;

  /// Where a product that is to be part `i` is written: [rows, cols] bf16, one for all parts of a stream.
  View product(std::size_t stream) const;
  /// Makes part `i` of the product of `stream`, on the stream.
  void cast(const Tag& tag, Stream on, std::size_t stream, std::int64_t i) const;

 private:
  Device& device_;
  std::int64_t rows_, cols_;
  NameId amax_, quantize_;
  Tensor products_;        // bf16 [GEMM streams, rows, cols]
  Tensor values_;          // fp8 [num, rows, cols]
  Tensor amaxes_;          // f32 [num_cast]
  Tensor inverse_scales_;  // f32 [num]
};

}  // namespace underlap::tp
