// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/formats/json_object.hpp"
#include "profiler/formats/kineto/own_tags.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::formats {

/// Writes one rank of a trace as PyTorch's profiler (Kineto) would: a file of its own.
///
/// Other tools need data that a trace may lack. So work without a launch in the trace gets a made-up launch at the
/// start of its step, and each window between two marks a range ProfilerStep#N.
class KinetoRank {
 public:
  KinetoRank(const Trace& trace, std::int32_t rank);

  /// Hands the file's text to `take`, piece by piece.
  void write(const std::function<void(std::string_view)>& take);

 private:
  struct Step {
    std::int32_t number = 0;
    std::int64_t begin_ns = 0, end_ns = 0;
  };
  // A launch that is made up, or where the trace has one, its correlation.
  struct Launch {
    std::uint32_t slice = 0;
    std::int64_t time_ns = 0;
    std::uint64_t correlation = 0;
  };

  void find_slices();
  void find_flows();
  void find_steps();
  void make_up_launches();
  void find_clock();

  void write_header();
  void write_device();
  void write_job();
  void write_names();
  void write_name(std::string_view what, std::int64_t pid, std::int64_t tid, std::string_view key,
                  std::string_view value);
  void write_steps();
  void write_slice(std::size_t slice);
  void write_launch(const Launch&);
  void write_flow(std::size_t slice, const kineto::FlowFrom&);
  void add_wait(JsonObject& args, std::size_t to, std::size_t from) const;
  void write_wait(std::size_t to, std::size_t from);
  void write_counters();
  void add_place(JsonObject& event, const Track&) const;
  void add_times(JsonObject& event, std::int64_t start_ns, std::int64_t duration_ns) const;
  std::int64_t host_pid() const;
  std::int64_t device_of(const Track& track) const { return track.device < 0 ? 0 : track.device; }
  std::string& begin_event();

  const Trace& trace_;
  std::int32_t rank_;
  std::string out_;
  bool any_event_ = false;
  std::int64_t floor_ns_ = 0;  ///< of the trace's clock, where the file's times begin
  std::int64_t unix_offset_ns_ = 0;
  std::vector<std::size_t> slices_;                                       ///< of this rank, in the order of the file
  std::vector<std::uint32_t> own_tracks_;                                 ///< by track: its place in the file's header
  std::unordered_map<std::size_t, std::vector<kineto::FlowFrom>> flows_;  ///< by slice of the trace
  std::unordered_map<std::size_t, std::uint64_t> correlations_;
  std::vector<Step> steps_;
  std::vector<Launch> launches_;  ///< by time
};

}  // namespace underlap::formats
