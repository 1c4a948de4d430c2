// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

/// One rule of a person's table. What is not given fits everything; patterns are as matches() reads them.
struct ModeRule {
  std::optional<std::string> group;   ///< name or description of the group
  std::optional<std::string> kernel;  ///< the kernel's name, whole or as qualified_name() gives it
  std::vector<std::int32_t> streams;  ///< numbers of streams; empty: all
  std::vector<std::int32_t> ranks;    ///< that run the slice; empty: all
  bool is_communication = true;       ///< false: compute only
  Mode mode = Mode::none;
  NameId purpose = kNoName;  ///< kNoName: keep the purpose that was found
  NameId reason = kNoName;   ///< includes the position of the rule, such as modes.yaml:3:5

  /// Whether it names kernels that no other rule counts as communication.
  bool names_kernels() const { return kernel.has_value() || !streams.empty(); }
};

/// A person's knowledge of a trace; the first matching rule decides.
struct ModeMap {
  std::vector<ModeRule> rules;
};

/// The format of the file, for users: lines of at most 80 columns.
const char* mode_map_help();

/// Reads a mode map from YAML (see mode_map_help()), `name` being what errors call it. Throws std::invalid_argument
/// with every error, each with its position and how to fix it.
ModeMap parse_mode_map(const std::string& yaml, const std::string& name);

/// The same from a file. Throws as read_input_file(), too.
ModeMap read_mode_map(const std::string& file);

}  // namespace underlap::attribution
