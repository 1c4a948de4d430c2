// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

/// Of attention_forward and attention_backward.
struct AttentionParameters {
  std::int64_t seq_length = 0;
  std::int64_t head_size = 0;
};

}  // namespace underlap::kernels
