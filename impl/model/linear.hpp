// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "impl/model/weights.hpp"

namespace underlap::model {

/// A linear layer y = x w^T: forward, gradient of the input and gradient of the weight as operations of their own.
/// This is where tensor parallelism takes hold.
class Linear {
 public:
  /// `slot` is the layer's place in the field's terms: qkv, proj, fc1, fc2, head.
  Linear(std::string_view slot, std::int32_t parameter);

  /// x [T, in], y [T, out], bf16.
  void fprop(const Enqueue& enqueue, const Weights& weights, const View& x, const View& y) const;
  /// dy [T, out], dx [T, in], bf16.
  void dgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& dx) const;
  /// Adds dy^T x to the main gradient.
  void wgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& x) const;

 private:
  std::int32_t parameter_;
  NameId fprop_;
  NameId dgrad_;
  NameId wgrad_;
};

}  // namespace underlap::model
