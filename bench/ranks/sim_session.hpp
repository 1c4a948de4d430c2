// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "bench/ranks/session.hpp"

namespace underlap::bench {

/// All cells of a matrix on the virtual-time backend: the ranks of a cell are recorded step by step and simulated
/// together. Equal cells give bit-for-bit equal runs on any machine; with run.numerics the losses depend on this
/// machine's arithmetic.
///
/// Only the cell that ran last is in memory: another one is rebuilt for its next run, and continues its steps and its
/// time. With run.numerics, steps depend on values of earlier steps, so all cells stay in memory.
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
    std::int64_t now_ns = 0;  // its virtual time when it was dropped
    std::unique_ptr<CellState> state;
  };
  CellState& resident(Cell& cell);
  void let_go(Cell& cell);

  std::vector<Cell> cells_;
  Trace last_trace_;
};

}  // namespace underlap::bench
