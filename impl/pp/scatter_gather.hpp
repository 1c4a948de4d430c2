// SPDX-License-Identifier: Apache-2.0
//
// Without sequence parallelism the n tensor-parallel ranks of a stage all hold what it hands on, and each sends it to
// its counterpart: n times the same bytes. Under extensions.scatter_gather_tensors_in_pipeline each sends an n-th, and
// the ranks of the next stage gather what they received, inside the node.
//
//   pp        | x |                  an n-th of the bytes, between stages
//   pp_gather     | gather |         the other n-1, among the ranks of the stage that received
//   compute                | F |     exposed: the gather, whole, for it starts where compute begins to wait
//
// Source: Narayanan et al. 2021, section 4.1; Megatron-LM until sequence parallelism left it without effect. There a
// stage's one tensor-parallel communicator carries the gather; here it has one of its own.
#pragma once

#include <array>

#include "impl/device/scope.hpp"
#include "impl/pp/script.hpp"
#include "impl/pp/technique.hpp"

namespace underlap::pp {

/// The parts that tensor-parallel ranks send of what all of them hold. Declares a communicator: made before
/// Device::begin(), by all ranks in the same order.
class ScatterGather {
 public:
  explicit ScatterGather(const Context& context);

  Stream stream() const { return group_.stream; }

  /// This rank's part of `whole`, dense [rows, cols]: [1, rows * cols / n].
  View part(const View& whole) const;
  /// Enqueues the gather of `whole` on stream(), from the parts that the ranks have received in place for `message`.
  /// Returns when it is done.
  Event gather(const Message& message, const View& whole, std::int32_t step) const;

 private:
  Scope scope_;
  std::int32_t size_;
  std::int32_t index_;
  Communicator group_;
  std::array<NameId, 2> purposes_;  // of activations, of gradients
};

}  // namespace underlap::pp
