// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "impl/tp/technique.hpp"

namespace underlap::tp {

/// What a linear layer's backward pass works on. Shapes: see Linear.
struct Backward {
  Operand weight;  ///< of fp8: its transposed copy, [in, out]
  View main_grad;
  Operand dy;
  Operand x;
  View dx;
};

/// A linear layer y = x w^T over a tensor-parallel group of n ranks, one for all layers of its name: its buffers are
/// shared. Everything runs between what the compute stream holds and what it is given next.
///
/// weight  [out, in], this rank's part; main_grad [out, in] f32 or bf16, added to
/// alone            x [T, in], y [T, out]
/// column-parallel  x [T/n, in], y [T, out]: the weight's rows are parted
/// row-parallel     x [T, in], y [T/n, out]: the weight's columns are parted
/// Without sequence parallelism T stands for T/n: every rank holds all rows, y of a row-parallel layer and dx of a
/// column-parallel one are all-reduced, and nothing is gathered.
/// dx is as x, dy as y. Products are of bf16, or of fp8 where the context has Fp8Scratch: then weight and x are f8e4m3
/// and dy is f8e5m2, and what is gathered travels as fp8. Ranks that hold different rows of an fp8 tensor have one
/// scale for it. y and dx are bf16, and so is what is reduced.
class Linear {
 public:
  virtual ~Linear() = default;

  /// `tag` gives layer, microbatch, direction and step.
  virtual void fprop(const Tag& tag, const Operand& weight, const Operand& x, const View& y) = 0;

  /// The gradient of the input and the gradient of the weight.
  virtual void backward(const Tag& tag, const Backward& backward) = 0;

  /// The gradient of the input alone, where the weight's is put off: main_grad and x are not looked at.
  virtual void dgrad(const Tag& tag, const Backward& backward) = 0;

  /// The gradient of the weight alone, of what dgrad() was given before: weight and dx are not looked at. What
  /// backward() gathers once for both is gathered again, and nothing runs beside it. Not for a row-parallel layer whose
  /// dgrad gathers by a ring.
  virtual void wgrad(const Tag& tag, const Backward& backward) = 0;
};

/// The transposed copies that the gradient of an fp8 weight is made of, for all layers because only one is at work.
struct Fp8Scratch {
  Tensor gradient;  ///< f8e5m2 [most output features * T]
  Tensor input;     ///< f8e4m3 [most input features * T]

  Fp8Scratch(Device& device, std::int64_t tokens, std::int64_t most_in, std::int64_t most_out);
};

/// Where a linear layer stands and how large it is.
struct LinearContext {
  Communicators* communicators = nullptr;
  std::string_view name;            ///< qkv, proj, fc1, fc2 or head: the first part of its purposes
  std::int64_t tokens = 0;          ///< T
  std::int64_t in = 0;              ///< columns of this rank's weight
  std::int64_t out = 0;             ///< rows of this rank's weight
  bool sequence_parallel = true;    ///< ranks each hold T/n rows between layers, else all; userbuffers need it
  const Fp8Scratch* fp8 = nullptr;  ///< of products in fp8; outlives the layer
};

/// How its slots meet their communication.
struct ColumnOverlap {
  plan::TensorSlotOverlap fprop, dgrad, wgrad;
};
struct RowOverlap {
  plan::TensorSlotOverlap fprop, dgrad;
};

/// A group of one rank gets the layer alone.
std::unique_ptr<Linear> make_column_linear(const LinearContext& context, const ColumnOverlap& overlap);
std::unique_ptr<Linear> make_row_linear(const LinearContext& context, const RowOverlap& overlap);
/// For a column-parallel layer whose weight gradients are put off. `wgrad` says how gathers meet GEMMs.
std::unique_ptr<WgradDrain> make_wgrad_drain(const LinearContext& context, const plan::TensorSlotOverlap& wgrad);

}  // namespace underlap::tp
