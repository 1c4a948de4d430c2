// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/device/device.hpp"

namespace underlap::tp {

/// An operand of a product: bf16 values, or fp8 values whose meaning is value times inverse scale. A weight may bring
/// the bias that its forward product adds.
struct Operand {
  View values;
  View inverse_scale = {};  ///< [1, 1] f32, of fp8 values
  View bias = {};           ///< [1, out] bf16; of a column-parallel layer alone, whose products are whole sums

  bool is_fp8() const { return underlap::is_fp8(values.tensor.dtype); }
};

/// A product of a linear layer whose rows are tokens: y = x w^T going forward, dx = dy w going backward, of bf16 or of
/// fp8. A technique cuts it by tokens or by output features and need not know which of the four it is.
struct TokenGemm {
  Tag tag;         ///< of its operations; the purpose is its slot, e.g. fc1_fprop
  Operand weight;  ///< bf16: the layer's, [out, in]; fp8: [features, K], as is or a transposed copy
  bool is_dgrad = false;
  int sm_margin = 0;           ///< multiprocessors that it leaves free
  View in_inverse_scale = {};  ///< [1, 1] f32: of an fp8 input, the same for all of its rows

  /// Columns of its output.
  std::int64_t features() const { return reads_columns() ? weight.values.cols : weight.values.rows; }

  /// out [M, features] bf16 = in [M, K] times the weight. In fp8 M is a multiple of 8.
  Operation rows(const View& in, const View& out) const;

  /// The output's columns from `first` on: out [M, num] bf16 = in [M, K] times that part of the weight. In fp8 num is
  /// a multiple of 8.
  Operation split(const View& in, std::int64_t first, const View& out) const;

 private:
  /// Whether an output feature is a column of the weight: fp8 is multiplied along rows of both operands only.
  bool reads_columns() const { return is_dgrad && !weight.is_fp8(); }
};

}  // namespace underlap::tp
