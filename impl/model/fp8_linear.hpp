// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "impl/tp/linear.hpp"

namespace underlap::model {

/// The name and size of a layer. A group of n ranks holds T tokens; this rank holds T of them or T/n.
struct Fp8Context {
  Device* device = nullptr;
  Stream compute;
  tp::Linear* products = nullptr;  ///< in fp8
  std::string_view name;           ///< qkv, proj, fc1 or fc2: the first part of its purposes
  std::int64_t input_tokens = 0;   ///< rows of x here
  std::int64_t output_tokens = 0;  ///< rows of dy here
  std::int64_t in = 0;
  std::int64_t out = 0;
  Tensor inputs;               ///< f8e4m3 [num_slots * input_tokens * in]: x from the forward to the backward pass
  Tensor gradient;             ///< f8e5m2, at least [output_tokens * out]: scratch of all layers
  std::int32_t num_slots = 1;  ///< microbatches between their forward and their backward pass
  bool weight_is_fp8 = false;  ///< as it was gathered
  /// Whose ranks hold the other rows of x, or of dy, and share a scale of it; nullptr: all rows are here.
  const tp::Collectives* input_group = nullptr;
  const tp::Collectives* gradient_group = nullptr;
};

/// A weight as it was gathered: bf16, or f8e4m3 with its scale; and the bias that its product adds, if any.
using GatheredWeight = tp::Operand;

/// A linear layer y = x w^T that multiplies in fp8 under current scaling: each tensor is scaled by its own largest
/// magnitude just before it is cast.
///
///   fprop     x: amax, scale, quantise to e4m3  | y  = x w^T
///   backward  dy: amax, scale, quantise to e5m2 | dx = dy (w^T)^T | transpose dy and x | dw += dy^T (x^T)^T
///
/// This casts; tp::Linear multiplies, and gathers what was cast. GPUs multiply fp8 along rows of both operands only,
/// hence the transposed copies. The weight's is made once a step, and so is the fp8 weight where bf16 was gathered; the
/// input stays in fp8 from the forward to the backward pass. Where a group's ranks hold different rows of x or dy, its
/// amax is reduced over them, so that what is gathered has one scale; a tensor that has all its rows here is scaled
/// alone.
/// Source: Transformer Engine's current scaling (Float8CurrentScaling; amax is reduced for the input of column-parallel
/// and the output's gradient of row-parallel layers); Micikevicius et al. 2022 for e4m3 going forward and e5m2
/// backward.
class Fp8Linear {
 public:
  /// Allocates on the context's device: a transposed weight, and the fp8 weight where bf16 is gathered.
  /// Products, scratch and groups outlive this.
  /// Throws std::invalid_argument unless in and out are multiples of 16 and tokens of 8 here and of 16 in the group.
  explicit Fp8Linear(const Fp8Context& context);

  /// x [input_tokens, in], y [output_tokens, out], bf16. `tag` gives layer, microbatch, direction and step; the weight
  /// is taken anew with each step.
  void fprop(const Tag& tag, std::int32_t slot, const GatheredWeight& weight, const View& x, const View& y);

  /// dx from dy and the weight of the step, and dy^T x, with the x of `slot`, added to main_grad [out, in] f32 or bf16.
  void backward(const Tag& tag, std::int32_t slot, const View& dy, const View& dx, const View& main_grad);

 private:
  /// A tensor's scale, as the device finds it.
  struct Scale {
    View amax;
    View inverse_scale;
  };

  void launch(const Tag& tag, NameId purpose, const Operation& operation) const;
  void quantize(const Tag& tag, const View& x, const Scale& scale, const View& q, const tp::Collectives* group) const;
  void take_weight(const Tag& tag, const GatheredWeight& weight);
  Scale scale(std::int64_t i) const;
  tp::Operand input(std::int32_t slot) const;

  Fp8Context context_;
  NameId amax_, amax_all_reduce_, quantize_, transpose_;
  Tensor scales_;             // f32 [2 + slots, 2]: amax and inverse scale of w, of dy, and of x by slot
  Tensor own_weight_;         // f8e4m3 [out, in], where bf16 is gathered
  View transposed_weight_;    // f8e4m3 [in, out]
  GatheredWeight weight_;     // in fp8, of this step
  std::int32_t weight_step_;  // that weight_ was taken in
};

}  // namespace underlap::model
