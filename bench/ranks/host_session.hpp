// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/ranks/host_rank.hpp"
#include "bench/ranks/session.hpp"

namespace underlap::bench {

/// Cells of a matrix, built up and ready on the host backend: ranks are threads of this process.
///
/// Cells share the process and its connections and run one at a time, so that a drift of the machine hits all alike.
class HostSession final : public Session {
 public:
  /// Builds the cells `own` on every rank; steps are counted from `first_step`. `cells` outlive this.
  /// Throws std::invalid_argument for what a cell's data file is missing and for more memory than there is,
  /// MachineError where the ranks cannot have their threads or sockets, or cannot be joined.
  HostSession(std::span<const plan::Cell> cells, const CellPart& own, std::int32_t first_step);

  /// Versions of the libraries that compute and carry the bytes.
  static std::map<std::string, std::string> library_versions();

  report::BlockRun run(std::size_t cell, std::int32_t block, std::int64_t steps) override;
  Trace take_trace(std::size_t, std::span<const std::int32_t> ranks) override { return taken(last_trace_, ranks); }
  void reserve(std::size_t cell, std::int64_t steps) override;

 private:
  static std::span<const plan::Cell> checked(std::span<const plan::Cell> cells, const CellPart& own, Texts& texts);
  void on_every_rank(std::size_t cell, const std::function<void(HostRank&)>& work);

  Texts texts_;
  std::span<const plan::Cell> cells_;
  host::Fabric fabric_;
  Trace last_trace_;
  std::vector<std::unique_ptr<HostRank>> ranks_;  // last: they use the above
};

}  // namespace underlap::bench
