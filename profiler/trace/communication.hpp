// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/trace/name.hpp"

namespace underlap {

/// Element type of a tensor or a message. f8e4m3 and f8e5m2 are the two 8-bit floats of Micikevicius et al. 2022, "FP8
/// formats for deep learning".
enum class DataType : std::uint8_t { f32, bf16, i32, u8, f64, f8e4m3, f8e5m2 };

/// Bytes of one element.
std::int64_t size_of(DataType);
/// Whether elements are 8-bit floats: values that are moved and multiplied, but never summed in their own type.
constexpr bool is_fp8(DataType dtype) { return dtype == DataType::f8e4m3 || dtype == DataType::f8e5m2; }

/// What a transfer does.
enum class Collective : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, send, receive };

std::string_view to_string(DataType);
std::string_view to_string(Collective);
std::optional<DataType> data_type_from(std::string_view);
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
  std::vector<std::int32_t> ranks;  ///< global ranks in group order

  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

}  // namespace underlap
