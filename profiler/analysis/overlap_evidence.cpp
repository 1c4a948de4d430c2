// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/overlap_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::analysis {
namespace {

// Compute that covers less than a tenth of an operation is the tail of earlier compute. Fails when the compute that
// should hide the operation is so short: the operation then counts as waited for at once.
constexpr std::int64_t kHardlyAny = 10;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

constexpr EnumNames<ExposedCause, 7> kExposedCauses{{"same_stream", "no_compute_after", "held_by_stream",
                                                     "one_connection", "waited_at_once", "outlasted_compute",
                                                     "not_shown"}};

// One slice of a rank, with what the search asks of it.
struct Piece {
  std::size_t slice = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t track = 0;
  std::int32_t step = 0;
  std::uint32_t operation = 0;  ///< 0: its place in the order of enqueueing is not known
  Kind kind = Kind::compute;
  std::size_t previous = kNone;  ///< the piece before it on its stream
  std::size_t place = kNone;     ///< in the order of enqueueing
};

struct Verdict {
  ExposedCause cause = ExposedCause::not_shown;
  std::size_t other = kNone;  ///< a piece
};

std::string describe(const Trace& trace, std::size_t slice) {
  const Tag& tag = trace.tag(slice);
  const std::string_view name = name_of(tag.purpose != kNoName ? tag.purpose : trace.name(slice));
  if (tag.bucket >= 0) return fmt::format("{} (bucket {})", name, tag.bucket);
  return tag.chunk < 0 ? std::string(name) : fmt::format("{} (chunk {})", name, tag.chunk);
}

void add(CauseShare& share, std::int64_t exposed_ns, const std::string& other) {
  share.exposed_ns += exposed_ns;
  ++share.operations;
  if (exposed_ns <= share.longest_ns) return;
  share.longest_ns = exposed_ns;
  share.other = other;
}

// All slices of one rank, in every order that the search needs.
class RankEvidence {
 public:
  /// `slices`: the work of one rank, by start. `windows`: its windows, by their ends.
  RankEvidence(const Trace& trace, const std::vector<std::uint32_t>& slices, std::vector<Window> windows,
               const std::vector<std::uint32_t>& place_of_launch)
      : trace_(trace), windows_(std::move(windows)) {
    for (const std::uint32_t slice : slices) {
      add_piece(slice);
      if (place_of_launch[slice] != 0) pieces_.back().operation = place_of_launch[slice];
    }
    order_by_stream_and_start();
    order_by_enqueueing();
  }

  void add_to(OverlapEvidence& evidence, const EvidenceRequest& request) const {
    std::vector<Interval> active, transfer, unsplit;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.kind != Kind::communication || !request.is_asked(trace_.tag(piece.slice))) continue;
      active.push_back({piece.start, piece.end});
      if (const std::optional<std::int64_t> arrival = last_arrival(piece))
        transfer.push_back({*arrival, piece.end});
      else
        unsplit.push_back({piece.start, piece.end});
      explain(i, request, evidence);
    }
    add_times(evidence, std::move(active), std::move(transfer), std::move(unsplit));
  }

 private:
  void add_piece(std::size_t slice) {
    const Slice row = trace_.slice(slice);
    pieces_.push_back({.slice = slice,
                       .start = row.start_ns,
                       .end = row.start_ns + row.duration_ns,
                       .track = row.track,
                       .step = row.tag.step,
                       .operation = row.operation,
                       .kind = row.tag.kind});
  }

  void order_by_stream_and_start() {
    std::map<std::uint32_t, std::size_t> last_on_track;
    std::vector<Interval> compute;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& piece = pieces_[i];
      const auto [last, is_first] = last_on_track.try_emplace(piece.track, kNone);
      piece.previous = std::exchange(last->second, i);
      if (piece.kind != Kind::compute) continue;
      compute.push_back({piece.start, piece.end});
      compute_by_start_.push_back(i);
    }
    compute_set_ = IntervalSet(std::move(compute));
    compute_ = CoveredTime(compute_set_);
  }

  void order_by_enqueueing() {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      if (pieces_[i].operation != 0) enqueued_.push_back(i);
    std::stable_sort(enqueued_.begin(), enqueued_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(pieces_[a].step, pieces_[a].operation) < std::pair(pieces_[b].step, pieces_[b].operation);
    });
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    for (std::size_t place = 0; place < enqueued_.size(); ++place) {
      Piece& piece = pieces_[enqueued_[place]];
      piece.place = place;
      compute_end_before_.push_back(end);
      if (piece.kind == Kind::compute) end = std::max(end, piece.end);
    }
    next_compute_.assign(enqueued_.size(), kNone);
    for (std::size_t place = enqueued_.size(); place-- > 1;)
      next_compute_[place - 1] =
          pieces_[enqueued_[place]].kind == Kind::compute ? enqueued_[place] : next_compute_[place];
  }

  std::optional<std::int64_t> last_arrival(const Piece& piece) const {
    const CommunicationRecord* record = trace_.communication(piece.slice);
    if (record == nullptr || record->last_arrival_ns == -1) return std::nullopt;
    return std::clamp(record->last_arrival_ns, piece.start, piece.end);
  }

  void add_times(OverlapEvidence& evidence, std::vector<Interval> active, std::vector<Interval> transfer,
                 std::vector<Interval> unsplit) const {
    std::vector<Interval> measured;
    for (const Window& w : windows_) measured.push_back({w.begin_ns, w.end_ns});
    const IntervalSet windows(std::move(measured));
    const auto inside = [&](std::vector<Interval> intervals) {
      return intersect(IntervalSet(std::move(intervals)), windows);
    };
    const IntervalSet comm = inside(std::move(active));
    const IntervalSet transferring = inside(std::move(transfer));
    evidence.comm_ns += comm.length();
    evidence.hidden_ns += intersect(comm, compute_set_).length();
    evidence.transfer_ns += transferring.length();
    evidence.hidden_transfer_ns += intersect(transferring, compute_set_).length();
    evidence.unsplit_ns += subtract(inside(std::move(unsplit)), transferring).length();
  }

  void explain(std::size_t index, const EvidenceRequest& request, OverlapEvidence& evidence) const {
    const Piece& piece = pieces_[index];
    const Window* window = window_of_end(windows_, piece.end);
    ++(window != nullptr ? evidence.operations : evidence.operations_outside);
    if (window == nullptr) return;
    const std::int64_t begin = std::max(piece.start, window->begin_ns);
    const std::int64_t exposed = piece.end - begin - compute_.within(begin, piece.end);
    if (exposed <= 0) return;
    const Verdict verdict = cause_of(piece, *window, exposed, request.one_connection);
    add(evidence.causes[verdict.cause], exposed,
        verdict.other == kNone ? std::string() : describe(trace_, pieces_[verdict.other].slice));
  }

  Verdict cause_of(const Piece& piece, const Window& window, std::int64_t exposed, bool one_connection) const {
    const std::size_t next = compute_enqueued_next(piece, window);
    if (next != kNone && pieces_[next].track == piece.track) return {ExposedCause::same_stream};
    const auto first = first_compute_from(piece.start);
    if (begins_from(first, window.end_ns)) return {ExposedCause::no_compute_after};
    if (const std::size_t holder = held_by(piece, window, exposed); holder != kNone)
      return {ExposedCause::held_by_stream, holder};
    if (one_connection)
      if (const std::size_t front = stood_behind(piece, exposed); front != kNone)
        return {ExposedCause::one_connection, front};
    const std::int64_t hidden = piece.end - std::max(piece.start, window.begin_ns) - exposed;
    if (!begins_from(first, piece.end) || hidden * kHardlyAny >= exposed + hidden)
      return {ExposedCause::outlasted_compute};
    if (!enqueued_later(pieces_[*first], piece)) return {};
    return {ExposedCause::waited_at_once, *first};
  }

  static bool enqueued_later(const Piece& piece, const Piece& than) {
    return piece.place == kNone || than.place == kNone || piece.place > than.place;
  }

  using ComputeIterator = std::vector<std::size_t>::const_iterator;

  ComputeIterator first_compute_from(std::int64_t time) const {
    return std::lower_bound(compute_by_start_.begin(), compute_by_start_.end(), time,
                            [&](std::size_t i, std::int64_t t) { return pieces_[i].start < t; });
  }

  // Whether the compute at `first`, if there is any, begins at `time` or later.
  bool begins_from(ComputeIterator first, std::int64_t time) const {
    return first == compute_by_start_.end() || pieces_[*first].start >= time;
  }

  // The compute that was enqueued next after `piece` and begins in its window; where the order is not known, the next
  // to begin after its end.
  std::size_t compute_enqueued_next(const Piece& piece, const Window& window) const {
    std::size_t next = kNone;
    if (piece.place != kNone)
      next = next_compute_[piece.place];
    else if (const auto later = first_compute_from(piece.end); later != compute_by_start_.end())
      next = *later;
    return next != kNone && pieces_[next].start < window.end_ns ? next : kNone;
  }

  // The operation before it on its stream, where that ended long after all compute that had been enqueued before
  // `piece`, so that nothing else is known to have held `piece`, and where at least half of what is exposed would have
  // run under compute in that time.
  std::size_t held_by(const Piece& piece, const Window& window, std::int64_t exposed) const {
    if (piece.place == kNone || piece.previous == kNone) return kNone;
    const std::int64_t ready = std::max(window.begin_ns, compute_end_before_[piece.place]);
    const std::int64_t freed = pieces_[piece.previous].end;
    if (freed <= ready || freed > piece.start || 2 * (freed - ready) < piece.start - ready) return kNone;
    return 2 * compute_.within(ready, piece.start) >= exposed ? piece.previous : kNone;
  }

  // With one hardware queue nothing begins before what was enqueued earlier. What was enqueued between `piece` and the
  // next compute, and began last, kept that compute waiting; it counts where the wait is half of what is exposed.
  std::size_t stood_behind(const Piece& piece, std::int64_t exposed) const {
    if (piece.place == kNone || next_compute_[piece.place] == kNone) return kNone;
    const Piece& compute = pieces_[next_compute_[piece.place]];
    std::int64_t last_start = piece.start;
    std::size_t front = kNone;
    for (std::size_t place = piece.place + 1; place <= compute.place; ++place) {
      const Piece& next = pieces_[enqueued_[place]];
      if (next.start < last_start) return kNone;  // starts do not follow the order of enqueueing
      if (place < compute.place && next.track != compute.track) front = enqueued_[place];
      last_start = next.start;
    }
    return front != kNone && 2 * (pieces_[front].start - piece.start) >= exposed ? front : kNone;
  }

  const Trace& trace_;
  std::vector<Window> windows_;                   // by time
  std::vector<Piece> pieces_;                     // by start
  std::vector<std::size_t> compute_by_start_;     // pieces
  std::vector<std::size_t> enqueued_;             // pieces by the order of enqueueing, as far as it is known
  std::vector<std::int64_t> compute_end_before_;  // by place: the latest end of compute enqueued earlier
  std::vector<std::size_t> next_compute_;         // by place: the compute enqueued next, or kNone
  IntervalSet compute_set_;
  CoveredTime compute_;
};

// By slice: its position in the order of the launch calls, from 1. 0: unknown, or the slice has an operation number.
std::vector<std::uint32_t> places_of_launches(const Trace& trace) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> launches;
  for (const Flow& flow : trace.flows)
    if (flow.kind == FlowKind::launch) launches.emplace_back(trace.start_ns()[flow.from], flow.to);
  std::sort(launches.begin(), launches.end());
  std::vector<std::uint32_t> places(trace.size());
  std::uint32_t place = 0;
  for (const auto& [time, slice] : launches)
    if (trace.slice(slice).operation == 0 && places[slice] == 0) places[slice] = ++place;
  return places;
}

}  // namespace

std::string_view to_string(ExposedCause cause) { return kExposedCauses[cause]; }

std::vector<OverlapEvidence> find_evidence(const Trace& trace, std::span<const Window> windows,
                                           std::span<const EvidenceRequest> requests) {
  const std::vector<std::uint32_t> places = places_of_launches(trace);
  auto windows_of = windows_by_rank(windows);
  std::vector<OverlapEvidence> all(requests.size());
  for (const auto& [rank, slices] : work_by_rank(trace)) {
    const RankEvidence evidence(trace, slices, std::move(windows_of[rank]), places);
    for (std::size_t i = 0; i < requests.size(); ++i) evidence.add_to(all[i], requests[i]);
  }
  return all;
}

}  // namespace underlap::analysis
