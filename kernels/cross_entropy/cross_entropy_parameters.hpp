// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/vocab_shard.hpp"

namespace underlap::kernels {

struct CrossEntropyParameters {
  double scale = 1;
  VocabShard shard{};  ///< with the size of its vocabulary
};

}  // namespace underlap::kernels
