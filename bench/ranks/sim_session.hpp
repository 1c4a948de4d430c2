// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/ranks/session.hpp"

namespace underlap::bench {

/// All cells of a matrix on the virtual-time backend: the ranks of a cell are recorded step by step and simulated
/// together. Equal cells give equal runs, to the bit, on any machine; with run.numerics the losses are this machine's
/// arithmetic.
///
/// One cell is in memory at a time, the one that ran last: another is built anew when its turn comes, and counts its
/// steps and its time on. With run.numerics, where steps follow from values that earlier ones left, all stay.
class SimSession final : public Session {
 public:
  /// See make_session().
  SimSession(std::span<const plan::Cell> cells, std::int32_t first_step);
  ~SimSession() override;

  report::BlockRun run(std::size_t cell, std::int32_t block, std::int64_t steps) override;
  Trace take_trace(std::size_t, std::span<const std::int32_t> ranks) override { return taken(last_trace_, ranks); }
  void reserve(std::size_t, std::int64_t) override {}

 private:
  struct CellState;
  struct Cell {
    const plan::Cell* plan = nullptr;
    std::int32_t next_step = 0;
    std::int64_t now_ns = 0;  // where its virtual time stood when it was let go
    std::unique_ptr<CellState> state;
  };
  CellState& resident(Cell& cell);
  void let_go(Cell& cell);

  std::vector<Cell> cells_;
  Trace last_trace_;
};

}  // namespace underlap::bench
