// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace underlap::plan {

/// A weight of the model as data parallelism sees it.
struct Parameter {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int32_t layer = -1;        ///< -1: belongs to no layer
  std::int32_t num_wgrads = 1;    ///< wgrad operations of one microbatch that add to its gradient; 2 where it is tied
  bool shared_embedding = false;  ///< tied to a weight of another stage: it has a bucket of its own
  bool is_fp8 = false;            ///< stored and gathered as f8e4m3 with one scale, under an fp8 recipe
  bool is_replicated = false;     ///< every rank of the tensor-parallel group holds it whole, not a part of it
  bool is_copy = false;           ///< of a weight on another pipeline stage: a tied head's, whose embedding is there
  std::int32_t number = 0;        ///< its place among the weights of the whole model, in the order of the forward pass

  std::int64_t elements() const { return rows * cols; }
};

}  // namespace underlap::plan
