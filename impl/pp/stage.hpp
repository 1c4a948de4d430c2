// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/operation.hpp"

namespace underlap::pp {

/// What a pipeline asks of the model: one stage, which is one or more chunks of layers on one rank.
///
/// Everything is enqueued on the compute stream that the pipeline was given, or is joined to it before the call
/// returns. Activations and their gradients are dense [rows, cols] bf16 of the pipeline's context.
class Stage {
 public:
  virtual ~Stage() = default;

  /// Enqueues the forward pass of `microbatch` through `chunk`.
  ///
  /// input   what the chunk before gave; an empty view in the first chunk of the model. It stays as it is until
  ///         backward() of this chunk and microbatch has run
  /// output  to be written; an empty view in the last chunk of the model
  virtual void forward(std::int32_t chunk, std::int64_t microbatch, const View& input, const View& output) = 0;

  /// Enqueues the backward pass of `microbatch` through `chunk`, which reads the input of its forward pass again.
  ///
  /// d_output  gradient of the forward pass's output; an empty view in the last chunk of the model
  /// d_input   gradient of its input, to be written; an empty view in the first chunk of the model
  virtual void backward(std::int32_t chunk, std::int64_t microbatch, const View& d_output, const View& d_input) = 0;

  /// The backward pass in two halves: what the stage before waits for, and the weight gradients that can wait. Between
  /// the two d_output stays as it is; the forward pass's input need not.
  virtual void dgrad(std::int32_t chunk, std::int64_t microbatch, const View& d_output, const View& d_input) = 0;
  virtual void wgrad(std::int32_t chunk, std::int64_t microbatch) = 0;

  /// Starts the gather of a chunk's parameters. Called once a chunk and step, before its first forward pass, where
  /// overlap_param_gather and align_param_gather are in effect; never otherwise.
  virtual void start_param_gather(std::int32_t chunk) = 0;

  /// Starts the reduction of a chunk's gradients. Called once a chunk and step, after its last backward pass, where
  /// launches_reduces() returns true; never otherwise.
  virtual void start_grad_reduce(std::int32_t chunk) = 0;

  /// Computes the head's deferred weight gradients. Called once a step after the last backward pass, on the last stage
  /// under defer_embedding_wgrad_compute; never otherwise. The reduction of that chunk starts after it.
  virtual void finish_deferred_wgrads() = 0;
};

}  // namespace underlap::pp
