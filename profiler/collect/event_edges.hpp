// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap {

/// Which operations of a rank waited for an event, by the program that enqueued them.
///
/// An operation is known by its stream and its place among the operations of that stream since the last clear(); a
/// stream runs them in this order. One wait gives one edge, to the next operation of its stream; a wait that an earlier
/// one of the same streams implies gives none. 20 bytes an edge, 8 an operation. For one thread at a time.
class EventEdges {
 public:
  /// `position`: how many commands the stream holds with this operation.
  void add_operation(std::uint32_t stream, std::uint64_t position);
  /// What `stream` gets next waits until `awaited_stream` has run `position` commands.
  void add_wait(std::uint32_t stream, std::uint32_t awaited_stream, std::uint64_t position);
  /// An operation by its stream and its index among the stream's operations.
  struct Place {
    std::uint32_t stream = 0;
    std::uint32_t index = 0;
  };
  /// An operation started when it did because of another one: it took over what that one had held (resource), or the
  /// host enqueued it after that one (host).
  void add_cause(Place cause, Place operation, FlowKind kind) { edges_.push_back({cause, operation, kind}); }

  /// Appends a flow for each pair of operations. Of several causes between a pair the host counts first, then the
  /// event. `slices`: by stream, the slice of each operation; kNoSlice for one without.
  void append_flows(Trace& trace, std::span<const std::vector<std::uint32_t>> slices) const;
  void clear();

  static constexpr std::uint32_t kNoSlice = ~std::uint32_t{0};

 private:
  struct Edge {
    Place from, to;
    FlowKind kind = FlowKind::dependency;
  };
  struct StreamState {
    std::vector<std::uint64_t> positions;  ///< of its operations
    std::vector<Place> waits;              ///< before its next operation
    std::vector<std::int64_t> known;       ///< by stream: the latest operation there that this one waited for
  };

  StreamState& state(std::uint32_t stream);

  std::vector<StreamState> streams_;
  std::vector<Edge> edges_;
};

}  // namespace underlap
