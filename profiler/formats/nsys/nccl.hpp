// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/formats/nsys/import.hpp"

namespace underlap::formats::nsys {

/// NCCL's description of one of its calls; -1 (communicator: 0) for missing values.
struct NcclPayload {
  std::uint64_t communicator = 0;
  std::int64_t bytes = -1;      ///< of the count that was passed to the call
  std::int64_t num_ranks = -1;  ///< of the communicator
  std::int64_t rank = -1;       ///< in the communicator
  std::int64_t cuda_device = -1;
  std::int64_t peer = -1;  ///< its rank in the communicator
};

/// Decodes NVTX payloads by the schemas that the file holds (NVTX_PAYLOAD_SCHEMA_ENTRIES).
class Payloads {
 public:
  explicit Payloads(Import&);

  /// NVTX_EVENTS.binaryData: domain, schema, size and total size as 64-bit integers, then the payload. nullopt for data
  /// that is shorter than its schema, has no schema, or names no communicator.
  std::optional<NcclPayload> from_binary(std::span<const std::byte>) const;
  /// NVTX_EVENTS.jsonText: an object with the schema's names.
  static std::optional<NcclPayload> from_json(std::string_view);

 private:
  struct Field {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::int64_t NcclPayload::*into = nullptr;  ///< nullptr: the communicator
  };
  using SchemaId = std::pair<std::int64_t, std::int64_t>;  ///< domain, schema

  std::map<SchemaId, std::vector<Field>> schemas_;
};

/// A call of NCCL that is an NVTX range of its thread.
struct NcclCall {
  enum class What : std::uint8_t { group_start, group_end, collective, other };

  std::int64_t global_tid = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  What what = What::other;
  Collective collective = Collective::all_reduce;  ///< of a What::collective
  std::optional<NcclPayload> payload;
};

/// Reads NVTX ranges and marks. Returns the calls of NCCL among them.
std::vector<NcclCall> read_ranges(Import&);

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

/// Gives NCCL's kernels their communication records: those of the calls in whose range, or at the end of whose group,
/// they were launched. If several kernels were launched at once and the calls do not show which kernel carried which
/// call, they get no record, and are counted.
///
/// `call_of_work` as read_calls() returns it. Call this before Ranks::apply(), which renames tracks' owners.
void add_communication(Import&, std::vector<NcclCall>, const std::vector<std::uint32_t>& call_of_work,
                       const Communicators&, const Ranks&);

}  // namespace underlap::formats::nsys
