// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/formats/nsys/database.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats::nsys {

/// A process as Nsight Systems numbers it: a serialized id without its thread.
using Process = std::int64_t;
/// The process of work in early exports, which do not record it.
inline constexpr Process kUnknownProcess = 0;
constexpr Process process_of(std::int64_t global_id) { return global_id >> 24; }
constexpr std::int32_t thread_of(std::int64_t global_tid) { return static_cast<std::int32_t>(global_tid & 0xFFFFFF); }

/// Whose a track is: a device of a process, or (-1) its threads. Becomes a rank when everything is read.
struct Owner {
  Process process = 0;
  std::int32_t device = -1;

  friend auto operator<=>(const Owner&, const Owner&) = default;
};

/// Work on a device.
struct DeviceWork {
  Process process = 0;
  std::uint32_t correlation = 0;  ///< of the call that enqueued it; 0: not known
  std::uint32_t slice = 0;
};

/// A trace as it grows, and what all tables share: clock, strings, tracks. Until the ranks are known, the rank of a
/// track is its owner's number.
class Import {
 public:
  /// Both outlive this.
  Import(const Database&, Reading&);

  Trace trace;
  std::vector<Owner> owners;
  std::vector<DeviceWork> device_work;               ///< in the order of their slices
  std::map<Process, std::set<std::int32_t>> labels;  ///< ranks in a process's NVTX texts

  const Database& database() const { return *database_; }
  /// Advances to the next row of a long table like Rows::next(), and reports progress in the file. Throws Cancelled,
  /// too.
  bool next(Rows& rows) {
    if (++rows_ % kRowsPerReport == 0) report_progress();
    return rows.next();
  }
  void skip(const std::string& reason, std::int64_t count = 1) { trace.import.skipped[reason] += count; }
  /// About how many rows the long tables have: nearly all of them become slices.
  std::size_t about_rows() const { return about_rows_; }
  /// Counts where the rows of a table end early.
  void end_table(const std::string& table, const Rows&);

  struct Span {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
  };
  /// Start and end of the current row, in the first two columns, on the trace's clock. nullopt, counted as what is
  /// wrong with a `what`, where they are no integers, turned round or overflow.
  std::optional<Span> span(const Rows&, std::string_view what);
  /// A time of the file on the trace's clock; nullopt where it overflows.
  std::optional<std::int64_t> time(std::int64_t file_ns) const;

  /// What StringIds holds for `id`, cut where it is too long for a name. Valid until the next call.
  std::optional<std::string_view> string(std::int64_t id);

  /// Adds a slice without attribution.
  void add(std::uint32_t track, const Span&, NameId name, Kind = Kind::none, const LaunchShape& = {});

  std::uint32_t owner(const Owner&);
  /// Whether the process has work on a device; true for all processes if the file does not show this.
  bool has_work(Process) const;
  std::uint32_t stream_track(const Owner&, std::int32_t stream);
  std::uint32_t thread_track(std::int64_t global_tid);
  /// The track of NVTX ranges of a thread. A thread may have several: `row` is the number of this one, and `name` its
  /// name.
  std::uint32_t range_track(std::int64_t global_tid, std::int64_t row, const std::string& name);

 private:
  struct TrackKey {
    std::uint32_t owner = ~std::uint32_t{0};
    TrackKind kind = TrackKind::stream;
    std::int32_t number = 0;
    std::int64_t row = 0;

    friend auto operator<=>(const TrackKey&, const TrackKey&) = default;
  };

  static constexpr std::size_t kRowsPerReport = 1024;

  void report_progress();
  void read_clock();
  void read_strings();
  void read_thread_names();
  std::uint32_t add_track(const TrackKey&, std::string name);

  const Database* database_;
  Reading* reading_;
  std::size_t rows_ = 0;  ///< that were read
  std::size_t about_rows_ = 0;
  std::int64_t base_ns_ = 0;
  std::unordered_map<std::int64_t, std::string> strings_;  ///< where the file has no quick way to one string
  std::unordered_map<std::int64_t, std::string> thread_names_;
  std::map<Owner, std::uint32_t> owner_index_;
  std::map<TrackKey, std::uint32_t> tracks_;
  Rows string_by_id_;
};

/// Names by their ids in StringIds, each made once.
class Names {
 public:
  /// `shorten` makes of a string the name that slices have.
  Names(Import& import, std::string_view (*shorten)(std::string_view)) : import_(&import), shorten_(shorten) {}
  NameId operator()(std::int64_t id);

 private:
  Import* import_;
  std::string_view (*shorten_)(std::string_view);
  std::unordered_map<std::int64_t, NameId> names_;
};

/// The rank in a label: "rank 3", "Rank:3", "[rank3]"; -1 for any other text.
std::int32_t rank_in(std::string_view text);

/// Reads kernels, copies and memsets, and graphs that were traced whole.
void read_device_work(Import&);

inline constexpr std::uint32_t kNoSlice = ~std::uint32_t{0};

/// Reads the calls of CUDA's runtime and driver, and adds the flows from them to the work that they enqueued.
///
/// Returns the slice of the call of each of Import::device_work; kNoSlice where it is not known.
std::vector<std::uint32_t> read_calls(Import&);

/// Reads streams' waits for events, at the time of the call that asks for them, and adds the flows to them from the
/// last work before the event was recorded, where the file holds the record. Waits of the host are calls already.
void read_waits(Import&);

}  // namespace underlap::formats::nsys
