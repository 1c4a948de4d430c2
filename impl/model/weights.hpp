// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

#include "impl/dp/technique.hpp"
#include "impl/plan/layout/parameters.hpp"

namespace underlap::model {

/// The interface between model and data parallelism: every use of a weight and every gradient goes through here.
struct Weights {
  const dp::Buffers* buffers = nullptr;
  dp::ParamGather* gather = nullptr;
  dp::GradReduce* reduce = nullptr;
  bool is_last_microbatch = false;
  bool puts_off_wgrads = false;  ///< those of linear layers; backward passes form what else there is

  /// Enqueues the wait for the weight, and returns it: [rows, cols]. A statement of its own, since gathers go out in
  /// the order of these calls.
  View gathered(std::int32_t parameter) const {
    before_use({parameter});
    return buffers->weight(parameter);
  }
  /// Enqueues the wait for all the weights that one operation uses, in the order of the forward pass.
  void before_use(std::initializer_list<std::int32_t> parameters) const { gather->before_use(parameters); }
  /// The weight where it was gathered before.
  View weight(std::int32_t parameter) const { return buffers->weight(parameter); }
  /// Of a weight that is gathered in fp8; of others an empty view.
  View inverse_scale(std::int32_t parameter) const {
    const bool is_fp8 = buffers->parameters[static_cast<std::size_t>(parameter)].is_fp8;
    return is_fp8 ? buffers->inverse_scale(parameter) : View{};
  }
  View main_grad(std::int32_t parameter) const { return buffers->main_grad(parameter); }

  /// To be called once the operation that makes a wgrad of `parameters` is enqueued.
  void after_wgrad(std::initializer_list<std::int32_t> parameters) const {
    if (is_last_microbatch) reduce->after_wgrad(parameters);
  }
};

/// A stream with the tag that what is enqueued on it carries.
struct Enqueue {
  Device* device = nullptr;
  Stream stream;
  Tag tag;

  /// `purpose` names the operation's place in the model, e.g. qkv_fprop.
  void operator()(NameId purpose, const Operation& operation) const {
    Tag own = tag;
    own.purpose = purpose;
    device->launch(stream, own, operation);
  }
  Enqueue in_layer(std::int32_t layer) const {
    Enqueue copy = *this;
    copy.tag.layer = layer;
    return copy;
  }
};

}  // namespace underlap::model
