// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/training_texts.hpp"
#include "impl/device/host/fabric.hpp"

namespace underlap::bench {

/// One rank on the host backend. Its peers may be threads of this process or other processes.
class HostRank final : public RankRunner {
 public:
  /// `fabric` connects it to its peers; the caller passes its failures to fabric.fail(). `fabric`, `texts` and `cells`
  /// outlive this. `num_sharing`: number of ranks with the same CPUs.
  HostRank(host::Fabric& fabric, Texts& texts, std::int32_t rank, std::span<const plan::Cell> cells,
           std::int32_t first_step, std::int32_t num_sharing = kAllRanks);
  ~HostRank() override;

  void build(std::size_t cell) override;
  void run(std::size_t cell, std::int32_t block, std::int64_t steps) override;
  /// transfer_cpu_ns is that of the rank's communication streams; the transport's own thread belongs to the fabric.
  RankRun take(std::size_t cell) override;
  void reserve(std::size_t cell, std::int64_t steps) override;

 private:
  struct BuiltCell;

  host::Fabric& fabric_;
  Texts& texts_;
  std::int32_t rank_;
  std::span<const plan::Cell> cells_;
  std::int32_t first_step_;
  std::int32_t num_sharing_;
  std::map<std::size_t, std::unique_ptr<BuiltCell>> built_;
};

/// A host rank in a separate process, with the fabric that connects it to the others.
std::unique_ptr<RankRunner> make_host_rank_process(const RankContext& context);

}  // namespace underlap::bench
