// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Predicted bytes that one rank's cells hold on its GPU at the same time, without CUDA's context: all cells of a
/// process stay built during its lifetime. Tensors and communicators add up; the libraries' workspaces count once.
///
/// own  cells of the process, as indices of `cells`
std::int64_t gpu_bytes_together(std::span<const plan::Cell> cells, std::span<const std::size_t> own);

/// Throws std::invalid_argument if the cells are predicted to need more than `free_bytes` of a GPU with `total_bytes`.
/// The message lists what each cell needs, and how many fit at a time.
void check_gpu_room(std::span<const plan::Cell> cells, std::span<const std::size_t> own, std::int64_t free_bytes,
                    std::int64_t total_bytes);

}  // namespace underlap::bench
