// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/rank_sweep.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "profiler/trace/saturating.hpp"

namespace underlap::viewer {
namespace {

// The phases of a slice: communication whose last arrival is known has two parts.
enum class Phase : std::uint8_t { begin, arrival, end };

// One row on its way through time.
struct Cursor {
  WorkRow row;
  std::size_t next = 0;  // slice of the row that is running, or pieces next
  Phase phase = Phase::begin;
  bool is_split = false;      // the last arrival of the slice is known
  bool has_arrived = false;   // of it, all members have
  std::int64_t known_ns = 0;  // of the communication that is running, what is exposed is known until here
  ExposedSlice exposed = {};
};

class Sweep {
 public:
  Sweep(const Trace& trace, std::span<const WorkRow> rows, std::int64_t origin_ns)
      : trace_(trace), origin_ns_(origin_ns), cursors_(rows.size()) {
    picture_.rows.resize(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      cursors_[row].row = rows[row];
      picture_.rows[row].reserve(rows[row].size());
      if (!rows[row].empty()) boundaries_.emplace(trace_.start_ns()[rows[row].front()], row);
    }
  }

  RankPicture run() {
    while (!boundaries_.empty()) {
      const std::int64_t now = boundaries_.top().first;
      const bool was_computing = running(Kind::compute) > 0;
      show_strip(now);
      while (!boundaries_.empty() && boundaries_.top().first == now) {
        const std::size_t row = boundaries_.top().second;
        boundaries_.pop();
        pass(row, now, was_computing);
      }
      if ((running(Kind::compute) > 0) != was_computing) account_for_all(now, was_computing);
      since_ns_ = now;
    }
    for (Segments& row : picture_.rows) row.finish();
    picture_.strip.finish();
    std::ranges::sort(picture_.exposed, {}, &ExposedSlice::slice);
    return std::move(picture_);
  }

 private:
  using Boundary = std::pair<std::int64_t, std::size_t>;  // when, and of which row

  std::int64_t at(std::int64_t trace_ns) const { return saturating_subtract(trace_ns, origin_ns_); }

  std::int32_t& running(Kind kind) { return running_[static_cast<std::size_t>(kind)]; }

  std::uint32_t slice_of(const Cursor& cursor) const { return cursor.row[cursor.next]; }

  void pass(std::size_t row, std::int64_t now, bool was_computing) {
    Cursor& cursor = cursors_[row];
    const std::uint32_t slice = slice_of(cursor);
    switch (cursor.phase) {
      case Phase::begin: return begin(row, slice, now);
      case Phase::arrival: return arrive(row, slice, now, was_computing);
      case Phase::end: return end(row, slice, now, was_computing);
    }
  }

  void begin(std::size_t row, std::uint32_t slice, std::int64_t now) {
    Cursor& cursor = cursors_[row];
    cursor.phase = Phase::end;
    std::int64_t next_ns = trace_.end_ns(slice);
    const Kind kind = trace_.tag(slice).kind;
    ++running(kind);
    if (kind == Kind::communication) {
      const CommunicationRecord* record = trace_.communication(slice);
      cursor.is_split = record != nullptr && record->last_arrival_ns != -1;
      cursor.has_arrived = false;
      cursor.known_ns = now;
      cursor.exposed = {.slice = slice};
      ++modes_[mode_of(slice)];
      ++(cursor.is_split ? waits_ : unsplit_);
      if (cursor.is_split) {
        cursor.phase = Phase::arrival;
        next_ns = std::clamp(record->last_arrival_ns, now, next_ns);
      }
    }
    boundaries_.emplace(next_ns, row);
  }

  void arrive(std::size_t row, std::uint32_t slice, std::int64_t now, bool was_computing) {
    Cursor& cursor = cursors_[row];
    account(cursor, now, was_computing);
    cursor.has_arrived = true;
    cursor.phase = Phase::end;
    --waits_;
    ++transfers_;
    boundaries_.emplace(trace_.end_ns(slice), row);
  }

  void end(std::size_t row, std::uint32_t slice, std::int64_t now, bool was_computing) {
    Cursor& cursor = cursors_[row];
    const std::int64_t start = at(trace_.start_ns()[slice]);
    const Kind kind = trace_.tag(slice).kind;
    --running(kind);
    if (kind == Kind::communication) {
      account(cursor, now, was_computing);
      --modes_[mode_of(slice)];
      --(cursor.is_split ? transfers_ : unsplit_);
      picture_.rows[row].add_communication(start, at(now), shade_of(cursor.exposed), cursor.exposed.exposed_ns());
      if (cursor.exposed.exposed_ns() > 0) picture_.exposed.push_back(cursor.exposed);
    } else {
      const Paint paint = kind == Kind::compute ? Paint::compute : kind == Kind::copy ? Paint::copy : Paint::wait;
      picture_.rows[row].add(start, at(now), {paint, 0});
    }
    cursor.phase = Phase::begin;
    if (++cursor.next < cursor.row.size()) boundaries_.emplace(trace_.start_ns()[slice_of(cursor)], row);
  }

  std::size_t mode_of(std::uint32_t slice) const { return static_cast<std::size_t>(trace_.tag(slice).mode); }

  // Of several kinds the one that must not vanish.
  Shade shade_of(const ExposedSlice& exposed) const {
    Paint paint = Paint::hidden;
    if (exposed.unsplit_ns > 0) paint = Paint::exposed_unsplit;
    if (exposed.transfer_ns > 0) paint = Paint::exposed_transfer;
    if (exposed.wait_ns > 0) paint = Paint::exposed_wait;
    return {paint, bit_of(trace_.tag(exposed.slice).mode)};
  }

  // Communication that ran until now, under compute or not.
  static void account(Cursor& cursor, std::int64_t now, bool was_computing) {
    const std::int64_t length = now - cursor.known_ns;
    cursor.known_ns = now;
    if (was_computing) return;
    (!cursor.is_split     ? cursor.exposed.unsplit_ns
     : cursor.has_arrived ? cursor.exposed.transfer_ns
                          : cursor.exposed.wait_ns) += length;
  }

  // Compute started or ended: communication in progress is hidden, or exposed, from here on.
  void account_for_all(std::int64_t now, bool was_computing) {
    for (Cursor& cursor : cursors_)
      if (cursor.phase != Phase::begin && trace_.tag(slice_of(cursor)).kind == Kind::communication)
        account(cursor, now, was_computing);
  }

  std::uint8_t modes_running() const {
    std::uint8_t modes = 0;
    for (std::size_t mode = 0; mode < kNumModes; ++mode)
      if (modes_[mode] > 0) modes |= static_cast<std::uint8_t>(1U << mode);
    return modes;
  }

  // A known transfer explains a moment, even if others wait.
  void show_strip(std::int64_t now) {
    const std::uint8_t modes = modes_running();
    Shade shade;
    if (modes != 0 && running(Kind::compute) > 0)
      shade = {Paint::hidden, modes};
    else if (modes != 0)
      shade = {transfers_ > 0 ? Paint::exposed_transfer
               : unsplit_ > 0 ? Paint::exposed_unsplit
                              : Paint::exposed_wait,
               modes};
    else if (running(Kind::compute) > 0)
      shade = {Paint::compute, 0};
    else if (running(Kind::copy) > 0)
      shade = {Paint::copy, 0};
    if (shade.paint != Paint::nothing) picture_.strip.extend(at(since_ns_), at(now), shade);
  }

  const Trace& trace_;
  std::int64_t origin_ns_;
  std::vector<Cursor> cursors_;
  std::priority_queue<Boundary, std::vector<Boundary>, std::greater<>> boundaries_;
  std::array<std::int32_t, kNumModes> modes_{};  // communication that pieces, by mode
  std::array<std::int32_t, 4> running_{};        // slices, by kind
  std::int32_t waits_ = 0;
  std::int32_t transfers_ = 0;
  std::int32_t unsplit_ = 0;
  std::int64_t since_ns_ = 0;
  RankPicture picture_;
};

}  // namespace

RankPicture sweep_rank(const Trace& trace, std::span<const WorkRow> rows, std::int64_t origin_ns) {
  return Sweep(trace, rows, origin_ns).run();
}

}  // namespace underlap::viewer
