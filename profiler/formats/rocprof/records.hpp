// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/trace/trace.hpp"

namespace underlap::formats::rocprof {

/// One record of a process: a kernel, a copy, a call or a roctx range. -1: not in the record.
struct Record {
  std::int64_t start_ns = -1;
  std::int64_t end_ns = -1;
  std::int64_t kind = -1;  ///< with `operation`, indices into the names of operations
  std::int64_t operation = -1;
  std::int64_t thread = -1;
  std::int64_t correlation = -1;
  std::int64_t kernel = -1;
  std::int64_t agent = -1;
  std::int64_t source_agent = -1;  ///< of a copy, as is the target
  std::int64_t target_agent = -1;
  std::int64_t queue = -1;
  std::int64_t stream = -1;
  LaunchShape shape;  ///< with the grid in blocks
};

/// Reads records, one at a time.
class RecordParser {
 public:
  /// Replaces `into`. Returns why the record cannot be used; "" on success.
  std::string_view parse(std::string_view text, Record& into);

 private:
  void take(simdjson::ondemand::object, Record& into, std::string_view parent, int depth);

  simdjson::ondemand::parser parser_;
  std::string padded_;
};

}  // namespace underlap::formats::rocprof
