// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "profiler/formats/nsys/import.hpp"
#include "profiler/formats/nsys/ranges.hpp"

namespace underlap::formats::nsys {

/// A communicator, from the payloads of its members.
struct Communicator {
  std::int64_t num_ranks = 0;
  std::map<std::int64_t, Owner> members;  ///< by rank in the communicator; those that the file holds
};
using Communicators = std::map<std::uint64_t, Communicator>;

/// The communicators, from calls with a communicator's size and the caller's rank: the calls that create or destroy
/// one.
Communicators communicators_of(const std::vector<NcclCall>&);

/// Which rank each owner of tracks is.
class Ranks {
 public:
  /// Takes the ranks from the environment, NCCL's payloads, NVTX labels or the order of devices and processes, and
  /// writes the source to the metadata.
  Ranks(Import&, const Communicators&);

  /// Of the owner's process and device. Threads of a process with several devices are its first rank.
  std::int32_t of(const Owner&) const;
  /// The global ranks of a communicator, by rank in it; empty if the file does not have all of them.
  std::vector<std::int32_t> members_of(const Communicator&) const;
  /// Gives all tracks their ranks, those of threads by where they launch most.
  void apply(Import&) const;

 private:
  void find_units(const Import&);
  bool take_environment(Import&);
  bool take_payloads(Import&, const Communicators&);
  bool take_labels(const Import&);

  std::vector<Owner> units_;         ///< each becomes a rank
  std::vector<std::int32_t> ranks_;  ///< of the units
  std::map<Owner, std::size_t> unit_of_;
  std::int64_t world_size_ = 0;  ///< 0: not known
  const Communicator* world_ = nullptr;
};

}  // namespace underlap::formats::nsys
