// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/session.hpp"
#include "impl/device/host/fabric.hpp"

namespace underlap::bench {

/// All cells of a matrix, built up and ready on the host backend: ranks are threads of this process.
///
/// Cells share the process and its connections and run one at a time, so that a drift of the machine hits all alike.
class HostSession final : public Session {
 public:
  /// Builds every cell on every rank; steps are counted from `first_step`. `cells` outlive this.
  /// Throws std::invalid_argument for what a cell's data file is missing, MachineError where the ranks cannot be
  /// joined.
  HostSession(std::span<const plan::Cell> cells, std::int32_t first_step);
  ~HostSession() override;
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  /// Versions of the libraries that compute and carry the bytes.
  static std::map<std::string, std::string> library_versions();

  BlockRun run(std::size_t cell, std::int32_t block, std::int64_t steps) override;
  void reserve(std::size_t cell, std::int64_t steps) override;

 private:
  struct RankCell;
  struct CellState;

  void on_every_rank(std::size_t cell, const std::function<void(RankCell&, std::int32_t rank)>& work);

  std::unique_ptr<host::Fabric> fabric_;
  std::vector<std::unique_ptr<CellState>> cells_;
};

}  // namespace underlap::bench
