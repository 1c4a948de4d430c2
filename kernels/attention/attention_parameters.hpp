// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

/// Of attention_forward and attention_backward.
struct AttentionParameters {
  std::int64_t seq_length = 0;
  std::int64_t head_size = 0;
  std::int64_t kv_length = 0;  ///< never 0 here
  bool causal = true;
};

}  // namespace underlap::kernels
