// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/collect/cupti/activities.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::cupti {

/// The step that a marker kernel ends.
struct MarkOfStep {
  std::int32_t block = 0;
  std::int32_t step = 0;
};

/// An operation as its device enqueued it, to be met again in CUPTI's records by its id.
struct OperationRecord {
  std::uint64_t id = 0;  ///< as given to Collector::push()
  Tag tag{};
  NameId name = kNoName;
  std::uint32_t number = 0;  ///< of the operation in its rank's program of the step
  std::int32_t stream = 0;   ///< the backend's number of it
  CommunicationRecord communication{};
  bool is_communication = false;
  std::int32_t sm_budget = 0;        ///< multiprocessors that its kernels were asked to keep to; 0: all
  std::optional<MarkOfStep> mark{};  ///< set: the operation is a marker kernel
};

/// The rank that ran the operations.
struct RankOfTrace {
  std::int32_t rank = 0;
  std::map<std::int32_t, std::string> streams{};  ///< names by number; each is a track, used or not
  std::vector<GroupRecord> groups{};              ///< what CommunicationRecord::group counts in
  std::vector<ClockSnapshot> clocks{};            ///< as drained
};

/// How often, and how long in all.
struct Total {
  std::int64_t count = 0;
  std::int64_t time_ns = 0;

  friend bool operator==(const Total&, const Total&) = default;
};

/// How large one kernel of an operation was launched.
struct KernelUse {
  NameId kernel = kNoName;
  Extent grid{};
  std::int32_t sm_budget = 0;  ///< OperationRecord::sm_budget
};

struct Assembled {
  Trace trace;                     ///< of one rank: slices by start, marks by time, groups
  std::vector<KernelUse> kernels;  ///< by start
  /// Kernels, copies and memsets without an operation, by name. They are not in the trace, because their purpose and
  /// stream are unknown. They are listed so that their time is visible. A correct backend has none.
  std::map<std::string, Total> untagged;
  /// What operations put on the device without a record of it, by what it was ("a launch of gemm_fprop"): how often.
  std::map<std::string, std::int64_t> lost;
  std::vector<std::string> errors;  ///< one line each: marks without a kernel, ids that occur twice

  std::int64_t num_untagged() const;
};

/// Puts the operations' tags on what CUPTI saw.
///
/// A kernel, copy or memset belongs to the operation whose id was pushed when its API call was made. Each becomes a
/// slice on the track of the operation's stream, with the operation's name, number and tag: several kernels of one
/// operation are several slices, and the first in time has the communication record. Copies and memsets have
/// Kind::copy, unless the operation's tag says communication. A marker's kernel is no slice: its end is the mark.
///
/// Errors are operation ids that occur twice and marks without a kernel. `lost` is what the records lack of an
/// operation:
/// - a communication that left nothing, unless its group is of one rank, which may have nothing to move, or its
///   transfers are of no bytes
/// - a recorded call that launched a kernel or a graph and succeeded, without a kernel, copy or memset of its number or
///   of that of a call inside or around it: a runtime's launch makes one of the driver's
/// - the same of a copy or memset, in a communication that carries bytes between ranks or where the operation left
///   nothing at all; elsewhere it may be one of no bytes, which leaves no record
Assembled assemble(const Activities&, std::span<const OperationRecord>, const RankOfTrace&);

}  // namespace underlap::cupti
