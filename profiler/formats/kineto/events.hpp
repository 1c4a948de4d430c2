// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Two such times differ by at most 64 bits, even after a shift by the file's base time.
inline constexpr std::int64_t kMostTimeNs = std::int64_t{1} << 61;
/// 104 days: sums of many durations stay in range.
inline constexpr std::int64_t kMostDurationNs = std::int64_t{1} << 53;

/// Why a duration cannot be used; "" if it can. nullopt: not a number.
constexpr std::string_view duration_fault(std::optional<std::int64_t> duration_ns, bool is_of_host = false) {
  if (!duration_ns || *duration_ns > kMostDurationNs)
    return is_of_host ? "host event with an invalid or overflowing duration" : "invalid or overflowing duration";
  if (*duration_ns < 0) return is_of_host ? "host event with a negative duration" : "negative duration";
  return "";
}

/// What an event of a Kineto trace is, by its category.
enum class KinetoCategory : std::uint8_t {
  kernel,
  copy,            ///< of memory, and memsets
  sync,            ///< a wait, shown on the stream
  gpu_annotation,  ///< a user annotation, from its first to its last kernel on a stream
  call,            ///< of the runtime or the driver
  annotation,      ///< user annotation of a thread
  host,            ///< anything else of a thread
  profiler         ///< the profiler's own rows
};

constexpr bool is_of_device(KinetoCategory category) { return category <= KinetoCategory::gpu_annotation; }

/// A process or a thread as an event names it: a number, or a text.
struct KinetoId {
  std::int64_t number = 0;
  NameId text = kNoName;  ///< kNoName: it is the number

  friend bool operator==(const KinetoId&, const KinetoId&) = default;
  /// By the text itself: ids of names depend on which thread came first.
  friend std::strong_ordering operator<=>(const KinetoId& a, const KinetoId& b) {
    if (a.number != b.number || a.text == b.text) return a.number <=> b.number;
    return name_of(a.text).compare(name_of(b.text)) <=> 0;
  }
};

/// One row of a viewer: what becomes a track.
struct KinetoLane {
  KinetoId pid;
  KinetoId tid;
  KinetoCategory category = KinetoCategory::host;

  friend auto operator<=>(const KinetoLane&, const KinetoLane&) = default;
};

/// The description of a collective in an event.
struct KinetoCollective {
  NameId name = kNoName;
  NameId dtype = kNoName;
  NameId group_name = kNoName;
  NameId group_description = kNoName;
  NameId group_ranks = kNoName;  ///< as text, "[0, 1]"
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::int64_t group_size = 0;
  std::int64_t first_rank = -1;
  std::int64_t rank_stride = 0;
  std::int64_t sequence = -1;  ///< -1: unknown
  std::int64_t peer = -1;      ///< -1: unknown
  bool is_even = true;         ///< every member has the same part
};

/// What an event of a device has besides.
struct KinetoWork {
  static constexpr std::uint32_t kNoCollective = ~std::uint32_t{0};

  LaunchShape shape;
  std::int64_t external_id = -1;
  std::int32_t device = -1;
  std::int32_t stream = -1;
  std::uint32_t collective = kNoCollective;  ///< index into KinetoEvents::collectives
  std::int32_t awaited_stream = -1;          ///< of a wait for an event
  std::int64_t record_id = -1;               ///< of a wait: correlation of the call that recorded the event
  bool has_stream = false;
};

/// What the arguments of an event state in traces of other tools (KinetoDialect). -1, kNoName: nothing.
struct KinetoForeign {
  std::int64_t correlation = -1;
  std::int64_t step = -1;            ///< number of the training step that the event is
  std::int64_t elements = 0;         ///< of a collective, on one rank
  NameId operation = kNoName;        ///< XLA's instruction, "all-reduce-start.1"; of an NPU the type of task, "AI_CORE"
  NameId dtype = kNoName;            ///< of a collective, as the tool writes it
  std::int32_t stream = -1;          ///< of a task of an NPU
  std::int32_t plane_stream = -1;    ///< of a part of a transfer between NPUs
  bool is_of_host_executor = false;  ///< an operation that XLA ran on the CPU
  LaunchShape shape;
};

struct KinetoRow {
  static constexpr std::uint32_t kNoForeign = ~std::uint32_t{0};

  std::int64_t time_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t id = -1;  ///< correlation of work and calls, id of a flow; -1: none
  NameId name = kNoName;
  std::uint32_t lane = 0;
  std::uint32_t extra = 0;  ///< of work: index into KinetoEvents::work; of record_param_comms: into collectives
  std::uint32_t foreign = kNoForeign;  ///< index into KinetoEvents::foreign
  KinetoCategory category = KinetoCategory::host;
  char phase = 'X';  ///< as in the file: X, B, E, s, f, C, M
  bool has_collective = false;
  bool is_range_of_collective = false;  ///< of the host, in which a collective was launched
  bool is_of_gloo = false;              ///< a collective that gloo ran on the host
};

/// What was read of one batch of events, in their order.
struct KinetoEvents {
  std::vector<KinetoRow> rows;
  std::vector<KinetoWork> work;
  std::vector<KinetoCollective> collectives;
  std::vector<KinetoForeign> foreign;
  std::vector<double> values;  ///< of counters: KinetoRow::extra is the index
  std::int64_t events = 0;     ///< read, used or not
  std::map<std::string_view, std::int64_t> skipped;

  void clear() {
    rows.clear();
    work.clear();
    collectives.clear();
    foreign.clear();
    values.clear();
    events = 0;
    skipped.clear();
  }
};

}  // namespace underlap::formats
