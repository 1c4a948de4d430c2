// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace underlap::compare {

/// Places (in `a`, in `b`) of a longest common subsequence, in order. Where the two differ so much that finding a
/// longest one would take longer than some hundred million steps, a long one.
/// Source: Myers 1986, An O(ND) difference algorithm and its variations, section 4b.
std::vector<std::pair<std::size_t, std::size_t>> common_subsequence(std::span<const std::uint32_t> a,
                                                                    std::span<const std::uint32_t> b);

}  // namespace underlap::compare
