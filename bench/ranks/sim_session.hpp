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
  std::span<const plan::Cell> given_;
  Trace last_trace_;
  std::vector<std::unique_ptr<CellState>> cells_;
};

}  // namespace underlap::bench
