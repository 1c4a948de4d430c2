// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::kernels {

/// The entries of a vocabulary that a table or a matrix of logits holds: its rows or columns are the entries from
/// `first` on. Source: the vocabulary-parallel embedding and cross-entropy of Shoeybi et al. 2019, section 3.
struct VocabShard {
  std::int64_t first = 0;
  std::int64_t vocab_size = 0;  ///< entries of the whole vocabulary; 0: the table is whole
};

}  // namespace underlap::kernels
