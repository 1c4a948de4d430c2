// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/formats/rocprof/json_parts.hpp"
#include "profiler/formats/rocprof/names.hpp"
#include "profiler/formats/rocprof/records.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats::rocprof {

/// Reads one process of a file into a trace.
class Process {
 public:
  Process(Trace& trace, Reading& reading) : trace_(trace), reading_(reading) {}

  /// Takes the text of the process. Its GPUs become ranks, numbered from `first_rank` in the order of the GPUs; threads
  /// and ranges belong to the GPU for which they launch the most work. Returns the number of ranks: 0 without work
  /// on a GPU; such a process adds nothing. Throws Cancelled.
  std::int32_t read(const JsonPart& process, std::int32_t first_rank);

 private:
  /// Device (-1: of the host), kind, and name.
  using TrackKey = std::tuple<std::int32_t, TrackKind, std::string>;
  using Links = std::vector<std::pair<std::int64_t, std::uint32_t>>;  ///< correlations and slices
  using Take = void (Process::*)(const Record&);

  void read_names(const std::vector<JsonPart>& members);
  void read_metadata(std::string_view object);
  void read_records(const std::vector<JsonPart>& arrays, std::string_view key, Take take);
  void count_streams(const Record&);
  void add_kernel(const Record&);
  void add_copy(const Record&);
  void add_call(const Record&);
  void add_collective_call(const Record&);
  void add_range(const Record&);
  void add_host_slice(const Record&, NameId name, TrackKind kind);
  std::uint32_t add_slice(std::uint32_t track, const Record&, NameId name, Kind kind);
  std::uint32_t track_of(std::int32_t device, std::int64_t number, TrackKind kind, const std::string& name);
  std::uint32_t stream_of(std::int32_t device, const Record&);
  NameId copy_name(const Record&) const;
  const std::uint32_t* call_of(std::int64_t correlation) const;
  void join_launches();
  std::int32_t place_ranks(std::int32_t first_rank);
  void skip(std::string_view reason, std::int64_t count = 1) { trace_.import.skipped[std::string(reason)] += count; }

  Trace& trace_;
  Reading& reading_;
  Names names_;
  RecordParser parser_;
  std::map<TrackKey, std::uint32_t> tracks_;
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> kernels_of_stream_;  ///< by agent and stream
  Links calls_;
  Links work_;
};

}  // namespace underlap::formats::rocprof
