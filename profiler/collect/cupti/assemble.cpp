// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "profiler/collect/cupti/traced_calls.hpp"

namespace underlap::cupti {
namespace {

// Any work that ran on the device.
struct Piece {
  const OnDevice* at = nullptr;
  const KernelActivity* kernel = nullptr;  // null: a copy or a memset
  const char* kind = "kernel";
};

std::vector<Piece> pieces_of(const Activities& activities) {
  std::vector<Piece> pieces;
  pieces.reserve(activities.kernels.size() + activities.copies.size() + activities.memsets.size());
  for (const KernelActivity& kernel : activities.kernels) pieces.push_back({.at = &kernel.at, .kernel = &kernel});
  for (const CopyActivity& copy : activities.copies)
    pieces.push_back({.at = &copy.at, .kind = copy.is_peer ? "peer copy" : "copy"});
  for (const MemsetActivity& memset : activities.memsets) pieces.push_back({.at = &memset.at, .kind = "memset"});
  // By time. Ties are broken so that equal input gives equal output.
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.at->start_ns, a.at->end_ns, a.at->correlation) <
           std::tie(b.at->start_ns, b.at->end_ns, b.at->correlation);
  });
  return pieces;
}

std::string name_of_piece(const Piece& piece) {
  if (piece.kernel == nullptr) return piece.kind;
  const std::string_view name = name_of(piece.kernel->name);
  return name.empty() ? "unnamed kernel" : std::string(name);
}

// What has been seen of one operation.
struct Seen {
  const OperationRecord* operation = nullptr;
  std::int64_t num_pieces = 0;
  std::int64_t end_ns = 0;
  std::int64_t num_lost_launches = 0;  // calls of which no piece was recorded
  std::int64_t num_lost_copies = 0;    // the same; of no bytes, or lost
};

// A call that put work on the device, with those that it was made of: a runtime's call makes one of the driver's. Their
// pieces have the number of either.
struct Enqueueing {
  std::vector<const ApiActivity*> calls;
  std::int64_t end_ns = 0;

  bool launches() const {
    return std::ranges::any_of(calls, [](const ApiActivity* call) {
      return work_of_call(call->is_runtime, call->function) == WorkOfCall::launch;
    });
  }
};

// In the order of threads, then time. Calls that failed put nothing on the device.
std::vector<Enqueueing> enqueueings_of(const Activities& activities) {
  std::vector<const ApiActivity*> calls;
  for (const ApiActivity& call : activities.api_calls)
    if (call.result == 0 && work_of_call(call.is_runtime, call.function) != WorkOfCall::none) calls.push_back(&call);
  // What encloses comes before what it encloses.
  std::stable_sort(calls.begin(), calls.end(), [](const ApiActivity* a, const ApiActivity* b) {
    return std::tie(a->thread, a->start_ns, b->end_ns) < std::tie(b->thread, b->start_ns, a->end_ns);
  });
  std::vector<Enqueueing> enqueueings;
  for (const ApiActivity* call : calls) {
    const bool is_within = !enqueueings.empty() && enqueueings.back().calls.front()->thread == call->thread &&
                           call->end_ns <= enqueueings.back().end_ns;
    if (!is_within) enqueueings.push_back({.calls = {}, .end_ns = call->end_ns});
    enqueueings.back().calls.push_back(call);
  }
  return enqueueings;
}

class Assembly {
 public:
  Assembly(const Activities& activities, std::span<const OperationRecord> operations, const RankOfTrace& rank)
      : activities_(activities), rank_(rank) {
    for (const OperationRecord& operation : operations)
      if (!seen_.try_emplace(operation.id, Seen{.operation = &operation}).second)
        out_.errors.push_back(fmt::format("duplicate operation id {}", operation.id));
    for (const ExternalCorrelation& external : activities.external_correlations)
      if (external.kind == kOperationCorrelation) operation_of_call_[external.correlation] = external.id;
  }

  Assembled run() {
    out_.trace.groups = rank_.groups;
    out_.trace.clocks = rank_.clocks;
    for (const auto& [number, name] : rank_.streams) track_of(number);
    const std::vector<Piece> pieces = pieces_of(activities_);
    for (const Piece& piece : pieces) add(piece);
    find_lost(pieces);
    finish();
    return std::move(out_);
  }

 private:
  std::uint32_t track_of(std::int32_t stream) {
    const auto found = tracks_.find(stream);
    if (found != tracks_.end()) return found->second;
    const auto name = rank_.streams.find(stream);
    const std::uint32_t track =
        out_.trace.add_track({.rank = rank_.rank,
                              .stream = stream,
                              .name = name == rank_.streams.end() ? fmt::format("stream {}", stream) : name->second});
    return tracks_.emplace(stream, track).first->second;
  }

  Seen* operation_of(std::uint32_t correlation) {
    const auto id = operation_of_call_.find(correlation);
    if (id == operation_of_call_.end()) return nullptr;
    const auto seen = seen_.find(id->second);
    return seen == seen_.end() ? nullptr : &seen->second;
  }

  void add(const Piece& piece) {
    Seen* const seen = operation_of(piece.at->correlation);
    if (seen == nullptr) {
      Total& total = out_.untagged[name_of_piece(piece)];
      ++total.count;
      total.time_ns += piece.at->end_ns - piece.at->start_ns;
      return;
    }
    ++seen->num_pieces;
    seen->end_ns = std::max(seen->end_ns, piece.at->end_ns);
    if (seen->operation->mark) return;
    if (piece.kernel != nullptr)
      out_.kernels.push_back({piece.kernel->name, piece.kernel->grid, seen->operation->sm_budget});
    add_slice(*seen, piece);
  }

  void add_slice(const Seen& seen, const Piece& piece) {
    const OperationRecord& operation = *seen.operation;
    Slice slice{.track = track_of(operation.stream),
                .start_ns = piece.at->start_ns,
                .duration_ns = piece.at->end_ns - piece.at->start_ns,
                .name = operation.name,
                .operation = operation.number,
                .tag = operation.tag};
    if (piece.kernel == nullptr && slice.tag.kind != Kind::communication) slice.tag.kind = Kind::copy;
    if (operation.is_communication && seen.num_pieces == 1)
      out_.trace.add(slice, operation.communication);
    else
      out_.trace.add(slice);
  }

  void find_lost(const std::vector<Piece>& pieces) {
    std::unordered_set<std::uint32_t> seen_calls;
    for (const Piece& piece : pieces) seen_calls.insert(piece.at->correlation);
    for (const Enqueueing& enqueueing : enqueueings_of(activities_)) {
      Seen* owner = nullptr;
      bool is_seen = false;
      for (const ApiActivity* call : enqueueing.calls) {
        if (owner == nullptr) owner = operation_of(call->correlation);
        is_seen = is_seen || seen_calls.contains(call->correlation);
      }
      if (owner != nullptr && !is_seen) ++(enqueueing.launches() ? owner->num_lost_launches : owner->num_lost_copies);
    }
  }

  // Whether `operation` carries bytes between ranks: then it leaves something on the device, and each of its copies
  // has some of them.
  bool carries_bytes(const OperationRecord& operation) const {
    if (!operation.is_communication) return false;
    const CommunicationRecord& communication = operation.communication;
    const bool is_alone =
        communication.group < rank_.groups.size() && rank_.groups[communication.group].ranks.size() == 1;
    return !is_alone &&
           std::ranges::any_of(communication.transfers, [](const TransferRecord& t) { return t.bytes > 0; });
  }

  void add_lost(const Seen& seen) {
    const OperationRecord& operation = *seen.operation;
    const std::string name(name_of(operation.name));
    const bool left_nothing = seen.num_pieces == 0;
    if (left_nothing && carries_bytes(operation)) {
      ++out_.lost[fmt::format("a transfer by {}", name)];
      return;
    }
    if (seen.num_lost_launches > 0) out_.lost[fmt::format("a launch of {}", name)] += seen.num_lost_launches;
    if (seen.num_lost_copies > 0 && (left_nothing || carries_bytes(operation)))
      out_.lost[fmt::format("a copy of {}", name)] += seen.num_lost_copies;
  }

  // In the order of ids, so that equal input gives equal output.
  std::vector<Seen> by_id() const {
    std::vector<Seen> sorted;
    for (const auto& [id, seen] : seen_) sorted.push_back(seen);
    std::sort(sorted.begin(), sorted.end(),
              [](const Seen& a, const Seen& b) { return a.operation->id < b.operation->id; });
    return sorted;
  }

  void finish() {
    for (const Seen& seen : by_id()) {
      const OperationRecord& operation = *seen.operation;
      if (operation.mark)
        add_mark(operation, seen);
      else
        add_lost(seen);
    }
    std::stable_sort(out_.trace.marks.begin(), out_.trace.marks.end(),
                     [](const Mark& a, const Mark& b) { return a.time_ns < b.time_ns; });
  }

  void add_mark(const OperationRecord& operation, const Seen& seen) {
    const MarkOfStep& mark = *operation.mark;
    if (seen.num_pieces == 0) {
      out_.errors.push_back(fmt::format("the marker of block {}, step {} has no kernel", mark.block, mark.step));
      return;
    }
    out_.trace.marks.push_back({.rank = rank_.rank, .block = mark.block, .step = mark.step, .time_ns = seen.end_ns});
  }

  const Activities& activities_;
  const RankOfTrace& rank_;
  std::unordered_map<std::uint64_t, Seen> seen_;  // by operation id
  std::unordered_map<std::uint32_t, std::uint64_t> operation_of_call_;
  std::map<std::int32_t, std::uint32_t> tracks_;
  Assembled out_;
};

}  // namespace

std::int64_t Assembled::num_untagged() const {
  std::int64_t sum = 0;
  for (const auto& [name, total] : untagged) sum += total.count;
  return sum;
}

Assembled assemble(const Activities& activities, std::span<const OperationRecord> operations, const RankOfTrace& rank) {
  return Assembly(activities, operations, rank).run();
}

}  // namespace underlap::cupti
