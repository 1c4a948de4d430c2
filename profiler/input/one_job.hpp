// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/analysis/matching/order_shift.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::input {

/// Sees to it that files are ranks of one job, each rank once.
class OneJob {
 public:
  /// Takes the next file's trace. Throws std::invalid_argument, with the names of both files, if it holds a rank that
  /// another file holds, differs in the number of ranks, or if a rank is not below that number.
  void add(const std::string& file, const Trace& trace);

  /// Throws std::invalid_argument if files have different devices and no common group, or if the times of
  /// some files do not overlap those of the others at all. Checks only traces of other tools: ours may be on clocks of
  /// their own. Different clocks are accepted: files whose common collectives, at least three, end at the same
  /// distance from each other are from one job.
  void check_times() const;

 private:
  struct Said {
    std::string value;
    std::string file;
  };
  using GroupKey = std::tuple<NameId, NameId, std::vector<std::int32_t>>;
  /// The device of a file, and the groups that it lists.
  struct Device {
    std::string name;
    std::string file;
    std::set<GroupKey> groups{};
  };
  /// Name and description of its group, and its sequence number.
  using Collective = std::tuple<NameId, NameId, std::vector<std::int32_t>, std::uint64_t>;
  struct Span {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    std::string file;
    std::map<Collective, std::int64_t> ends_ns{};  ///< of collectives whose group lists its ranks
    std::map<GroupKey, std::vector<analysis::OrderedCollective>> orders{};  ///< of the same, by group
  };

  void check_ranks(const std::string& file, const Trace& trace) const;
  static bool share_collectives(const Span&, const Span&);

  void check_said(const std::string& file, const Trace& trace, const char* key, const char* what);
  void take_device(const std::string& file, const Trace& trace);
  void check_devices() const;

  std::map<std::int32_t, std::string> file_of_rank_;
  std::map<std::string, Said> said_;
  std::vector<Span> spans_;
  std::vector<Device> devices_;
};

}  // namespace underlap::input
