// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/trace/data_type.hpp"
#include "profiler/trace/name.hpp"

namespace underlap {

/// What a transfer does.
enum class Collective : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, send, receive };

std::string_view to_string(Collective);
constexpr Collective last_value(Collective) { return Collective::receive; }
std::optional<Collective> collective_from(std::string_view);

/// One transfer of a communication, as its rank saw it.
struct TransferRecord {
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::f32;
  std::int32_t peer = -1;          ///< index in the group; -1 for a collective
  std::int64_t bytes = 0;          ///< size of the message as nccl-tests counts it: the full buffer of the collective
  std::int64_t bytes_on_wire = 0;  ///< bytes that this rank sent

  friend bool operator==(const TransferRecord&, const TransferRecord&) = default;
};

/// What the trace knows of one communication slice. Several transfers are one NCCL group.
struct CommunicationRecord {
  std::uint32_t group = 0;            ///< index into Trace::groups
  std::uint64_t sequence = 0;         ///< position among the communications of its communicator, from 0
  std::int64_t last_arrival_ns = -1;  ///< when the last member arrived, on this rank's clock; -1: not known
  std::int64_t cpu_ns = -1;  ///< CPU time that the transfer itself cost this rank's stream thread; -1: not known
  /// A further copy of a communication. The first copy has the same rank, group, sequence and collective, and the
  /// sizes.
  bool is_part = false;
  std::vector<TransferRecord> transfers;

  std::int64_t bytes_on_wire() const {
    std::int64_t sum = 0;
    for (const TransferRecord& t : transfers) sum += t.bytes_on_wire;
    return sum;
  }
  friend bool operator==(const CommunicationRecord&, const CommunicationRecord&) = default;
};

/// A communicator as the trace names it.
struct GroupRecord {
  NameId purpose = kNoName;
  std::vector<std::int32_t> ranks;  ///< global ranks in group order; empty: unknown
  NameId name = kNoName;            ///< the communicator's own, as a process group's number
  NameId description = kNoName;     ///< its purpose, as the framework describes it: "TENSOR_MODEL_PARALLEL_GROUP"
  std::int32_t num_ranks = 0;       ///< the size of the group; 0: that of `ranks`

  /// Whether the trace identifies the communicator; otherwise only the transfers are known.
  bool is_known() const { return *this != GroupRecord{}; }
  std::size_t size() const { return num_ranks > 0 ? static_cast<std::size_t>(num_ranks) : ranks.size(); }
  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

}  // namespace underlap
