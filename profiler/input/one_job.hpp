// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::input {

/// Sees to it that files are ranks of one job, each rank once.
class OneJob {
 public:
  /// Takes the next file's trace. Throws std::invalid_argument, with the names of both files, if it holds a rank that
  /// another file holds, differs in the number of ranks or the kind of device, or if a rank is not below that number.
  void add(const std::string& file, const Trace& trace);

  /// Throws std::invalid_argument where the times of some files do not meet those of the others at all. Only traces of
  /// other tools are asked: ours may be on clocks of their own. Clocks that are apart are no reason: files whose common
  /// collectives, three at least, end at the same distance from each other are of one job.
  void check_times() const;

 private:
  struct Said {
    std::string value;
    std::string file;
  };
  /// Name and description of its group, and its sequence number.
  using Collective = std::tuple<NameId, NameId, std::vector<std::int32_t>, std::uint64_t>;
  struct Span {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    std::string file;
    std::map<Collective, std::int64_t> ends_ns{};  ///< of collectives whose group lists its ranks
  };

  void check_ranks(const std::string& file, const Trace& trace) const;
  static bool share_collectives(const Span&, const Span&);

  void check_said(const std::string& file, const Trace& trace, const char* key, const char* what);

  std::map<std::int32_t, std::string> file_of_rank_;
  std::map<std::string, Said> said_;
  std::vector<Span> spans_;
};

}  // namespace underlap::input
