// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include "impl/model/fp8_linear.hpp"
#include "impl/model/layer_groups.hpp"
#include "impl/model/shape.hpp"
#include "impl/model/weights.hpp"
#include "impl/plan/config.hpp"
#include "impl/tp/linear.hpp"

namespace underlap::model {

/// The linear layers of a transformer layer over its tensor-parallel group: one of each name for all layers that
/// multiply in bf16, or with `fp8` for all that do in fp8, as userbuffers have a set for either.
struct LayerLinears {
  std::unique_ptr<tp::Linear> qkv;
  std::unique_ptr<tp::Linear> proj;
  std::unique_ptr<tp::Linear> fc1;
  std::unique_ptr<tp::Linear> fc2;

  LayerLinears(tp::Communicators& communicators, const Shape& shape, const plan::Config& config,
               const tp::Fp8Scratch* fp8 = nullptr);
};

/// What a layer's products in fp8 are made with, where a configuration has any.
class Fp8Linears {
 public:
  Fp8Linears(tp::Communicators& communicators, const Shape& shape, const plan::Config& config);

  /// One layer's linear layer; none where the layer multiplies in bf16.
  std::unique_ptr<Fp8Linear> make(std::string_view name, std::int32_t layer, std::int64_t in, std::int64_t out,
                                  const Keeping& keeping);

 private:
  Tensor inputs(std::string_view name, std::int64_t elements, const Keeping& keeping);

  tp::Communicators& communicators_;
  plan::Config config_;
  Shape shape_;
  // Where a layer multiplies in fp8.
  std::unique_ptr<tp::Collectives> group_;  // of ranks that hold other tokens
  std::unique_ptr<tp::Fp8Scratch> transposed_;
  std::unique_ptr<LayerLinears> linears_;
  Tensor gradient_;  // f8e5m2 [T * most output features], of the layer that runs
  std::map<std::pair<std::string, std::int32_t>, Tensor> recomputed_inputs_;  // by name and position in a group
};

/// The head's layer: Megatron's output layer, which never uses userbuffers.
std::unique_ptr<tp::Linear> make_head(tp::Communicators& communicators, const Shape& shape, const plan::Config& config);
/// Computes the head's deferred weight gradients; nullptr if no weight gradients are deferred.
std::unique_ptr<tp::WgradDrain> make_head_drain(tp::Communicators& communicators, const Shape& shape,
                                                const plan::Config& config);

/// A linear layer y = x w^T with its weight, and optionally a bias that its product adds to y. `over_group` implements
/// its tensor parallelism.
class Linear {
 public:
  /// With `fp8` the layer multiplies in fp8. `bias` is a parameter of a column-parallel layer, -1: none.
  Linear(tp::Linear& over_group, std::int32_t parameter, std::unique_ptr<Fp8Linear> fp8 = nullptr,
         std::int32_t bias = -1)
      : over_group_(over_group), parameter_(parameter), bias_(bias), fp8_(std::move(fp8)) {}

  /// Whether it multiplies in fp8, and keeps its input as such from the forward to the backward pass.
  bool is_in_fp8() const { return fp8_ != nullptr; }

  /// bf16; shapes as tp::Linear has them. `slot` is the microbatch's among those between forward and backward.
  void fprop(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const View& x, const View& y) const;
  /// dx from dy, and dy^T x added to the main gradient unless `weights` put that off.
  void backward(const Enqueue& enqueue, const Weights& weights, std::int32_t slot, const View& dy, const View& x,
                const View& dx) const;
  /// dx alone, of a layer in bf16.
  void dgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& dx) const;
  /// Adds the weight gradient that backward() deferred, of a layer in bf16.
  void wgrad(const Enqueue& enqueue, const Weights& weights, const View& dy, const View& x) const;

 private:
  tp::Linear& over_group_;
  std::int32_t parameter_, bias_;
  std::unique_ptr<Fp8Linear> fp8_;
};

}  // namespace underlap::model
