// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace underlap {

/// Calls `work` for 0 to count - 1, several at once on so many threads, of which the caller's is one; 0: one for each
/// core. What one of them throws is thrown when those under way have ended.
void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& work, unsigned threads = 0);

}  // namespace underlap
