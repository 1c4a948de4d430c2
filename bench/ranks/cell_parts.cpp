// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/cell_parts.hpp"

#include <numeric>

#include "bench/ranks/cuda_backend.hpp"
#include "bench/ranks/gpu_room.hpp"
#include "bench/ranks/host_room.hpp"
#include "platform/memory_room.hpp"

namespace underlap::bench {

CellPart all_cells(std::size_t num_cells) {
  CellPart all(num_cells);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<CellPart> parts_that_fit(std::size_t num_cells, const std::function<bool(const CellPart&)>& fits) {
  std::vector<CellPart> parts;
  CellPart part;
  for (std::size_t cell = 0; cell < num_cells; ++cell) {
    part.push_back(cell);
    if (part.size() == 1 || fits(part)) continue;
    part.pop_back();
    parts.push_back(std::exchange(part, {cell}));
  }
  parts.push_back(std::move(part));
  return parts;
}

std::vector<CellPart> parts_in_memory(std::span<const plan::Cell> cells, std::int32_t most_ranks) {
  // Predictions are of tensors. Libraries, messages and threads take some of a machine's memory, too; of a GPU's the
  // predictions have what its libraries take.
  constexpr double kUsedOfMachine = 0.8, kUsedOfGpu = 0.97;
  const plan::RunConfig& run = cells.front().plan.config.run;
  if (run.traits().runs_on_cores) {
    const double room = kUsedOfMachine * static_cast<double>(memory_room().amount);
    return parts_that_fit(cells.size(),
                          [&](const CellPart& part) { return planned_bytes(cells, part, most_ranks) <= room; });
  }
  if (const std::int64_t bytes = run.traits().runs_on_gpus ? gpu_bytes() : 0; bytes > 0) {
    const double room = kUsedOfGpu * static_cast<double>(bytes);
    return parts_that_fit(cells.size(), [&](const CellPart& part) {
      return static_cast<double>(gpu_bytes_together(cells, part) + cells[part.front()].plan.peak_memory.context) <=
             room;
    });
  }
  return {all_cells(cells.size())};
}

}  // namespace underlap::bench
