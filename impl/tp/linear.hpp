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

/// A linear layer y = x w^T over a tensor-parallel group of n ranks. One object serves all layers of its name, which
/// share its buffers. Everything runs between what the compute stream holds and what it is given next.
///
/// weight  [out, in], this rank's part; main_grad [out, in] f32 or bf16, added to
/// alone            x [T, in], y [T, out]
/// column-parallel  x [T/n, in], y [T, out]: the weight's rows are split over the ranks
/// row-parallel     x [T, in], y [T/n, out]: the weight's columns are split over the ranks
/// Without sequence parallelism T replaces T/n: every rank holds all rows, y of a row-parallel layer and dx of a
/// column-parallel one are all-reduced, and nothing is gathered.
/// dx has the shape of x, dy that of y. Products are in bf16, or in fp8 where the context has Fp8Scratch: then weight
/// and x are f8e4m3, dy is f8e5m2, and what is gathered is sent as fp8. Ranks that hold different rows of an fp8 tensor
/// have one scale for it. y and dx are bf16, and so is what is reduced.
class Linear {
 public:
  virtual ~Linear() = default;

  /// `tag` gives layer, microbatch, direction and step.
  virtual void fprop(const Tag& tag, const Operand& weight, const Operand& x, const View& y) = 0;

  /// The gradient of the input and the gradient of the weight.
  virtual void backward(const Tag& tag, const Backward& backward) = 0;

  /// The gradient of the input alone, if the weight's is deferred: does not read main_grad and x.
  virtual void dgrad(const Tag& tag, const Backward& backward) = 0;

  /// The gradient of the weight alone, for the arguments that dgrad() was given before: does not read weight and dx.
  /// What backward() gathers once for both is gathered again, and nothing overlaps with it. Not for a row-parallel
  /// layer whose dgrad gathers by a ring.
  virtual void wgrad(const Tag& tag, const Backward& backward) = 0;
};

/// The transposed copies for the gradient of an fp8 weight. All layers share them, since layers run one at a time.
struct Fp8Scratch {
  Tensor gradient;  ///< f8e5m2 [most output features * T]
  Tensor input;     ///< f8e4m3 [most input features * T]

  Fp8Scratch(Device& device, std::int64_t tokens, std::int64_t most_in, std::int64_t most_out);
};

/// The name, size and communicators of a linear layer.
struct LinearContext {
  Communicators* communicators = nullptr;
  std::string_view name;            ///< qkv, proj, fc1, fc2 or head: the first part of its purposes
  std::int64_t tokens = 0;          ///< T
  std::int64_t in = 0;              ///< columns of this rank's weight
  std::int64_t out = 0;             ///< rows of this rank's weight
  bool sequence_parallel = true;    ///< ranks each hold T/n rows between layers, else all; userbuffers need it
  const Fp8Scratch* fp8 = nullptr;  ///< of products in fp8; outlives the layer
};

/// How the layer's products overlap with their communication.
struct ColumnOverlap {
  plan::TensorSlotOverlap fprop, dgrad, wgrad;
};
struct RowOverlap {
  plan::TensorSlotOverlap fprop, dgrad;
};

/// With a group of one rank, makes the layer without communication.
std::unique_ptr<Linear> make_column_linear(const LinearContext& context, const ColumnOverlap& overlap);
std::unique_ptr<Linear> make_row_linear(const LinearContext& context, const RowOverlap& overlap);
/// For a column-parallel layer whose weight gradients are deferred. `wgrad` selects how gathers and GEMMs overlap.
std::unique_ptr<WgradDrain> make_wgrad_drain(const LinearContext& context, const plan::TensorSlotOverlap& wgrad);

}  // namespace underlap::tp
