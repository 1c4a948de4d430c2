// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap::sim {

/// Values in virtual time: the tensors of all ranks, and the operations in flight.
///
/// An operation reads its `in` and `inout` views when it starts, with `out` filled with NaN. Its results appear when it
/// ends. If two conflicting uses are in flight on one rank, both publish NaN, and so do the peers that receive from one
/// of them: a race that occurs at the times of this run is always noticed.
class VirtualMemory {
 public:
  using Token = std::uint32_t;

  explicit VirtualMemory(std::size_t num_ranks);
  ~VirtualMemory();

  /// Allocates memory for the tensors of `rank`. Idempotent.
  void allocate(std::int32_t rank, const Program& program);

  /// A launch, an upload or a group of transfers starts; `program` keeps operations and outlives end().
  Token begin(std::int32_t rank, const Program& program, const ProgramCommand& command);

  /// All members of some transfers of a group have moved their bytes. `positions` are the transfers of one flow in the
  /// member's call, for a message the one transfer; members are in group order, a sender before its receiver.
  struct Member {
    Token token = 0;
    std::span<const std::uint32_t> positions;
  };
  void exchange(std::span<const Member> members);

  /// The operation ends: its results appear.
  void end(Token token);

  /// Copies a dense view to the host.
  void download(std::int32_t rank, const View& source, std::span<std::byte> bytes) const;

  /// How often an operation published NaN because of a conflicting operation.
  std::int64_t num_conflicts() const { return num_conflicts_; }

 private:
  struct InWork;

  BoundView bind(std::int32_t rank, const View& view) const;
  void taint_conflicts(InWork& work);

  std::vector<std::vector<std::vector<std::byte>>> memory_;  // by rank, by tensor id - 1
  std::vector<std::unique_ptr<InWork>> works_;               // by token; null: free
  std::vector<std::vector<Token>> in_flight_;                // by rank
  std::int64_t num_conflicts_ = 0;
};

}  // namespace underlap::sim
