// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/gpu_room.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "platform/memory_room.hpp"

namespace underlap::bench {
namespace {

std::int64_t bytes_of_its_own(const plan::Cell& cell) {
  const plan::PeakMemory& peak = cell.plan.peak_memory;
  return peak.of_tensors() + peak.communicators;
}

}  // namespace

std::int64_t gpu_bytes_together(std::span<const plan::Cell> cells, std::span<const std::size_t> own) {
  std::int64_t sum = 0, once = 0;
  for (const std::size_t cell : own) {
    const plan::PeakMemory& peak = cells[cell].plan.peak_memory;
    sum += bytes_of_its_own(cells[cell]);
    once = std::max(once, peak.workspaces);
  }
  return sum + once;
}

void check_gpu_room(std::span<const plan::Cell> cells, std::span<const std::size_t> own, std::int64_t free_bytes,
                    std::int64_t total_bytes) {
  const std::int64_t needed = gpu_bytes_together(cells, own);
  if (needed <= free_bytes) return;
  std::vector<std::string> each;
  std::vector<std::size_t> fitting;
  for (const std::size_t cell : own) {
    each.push_back(fmt::format("{} {}", cells[cell].name, in_bytes(bytes_of_its_own(cells[cell]))));
    fitting.push_back(cell);
    if (gpu_bytes_together(cells, fitting) > free_bytes) fitting.pop_back();
  }
  const std::string advice =
      fitting.empty() ? "no single cell fits: shorten the model (--layers N)"
                      : fmt::format("run {} of these cells at a time (--cell NAME), or shorten the model (--layers N)",
                                    fitting.size());
  throw std::invalid_argument(fmt::format(
      "the cells that are built together are predicted to need {} of GPU memory, but {} of {} is free: {}\n  {}",
      in_bytes(needed), in_bytes(free_bytes), in_bytes(total_bytes), fmt::join(each, ", "), advice));
}

}  // namespace underlap::bench
