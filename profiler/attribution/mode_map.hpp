// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/attribution/kernel_rules.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

/// One rule about slices. A key that is not set matches everything. matches_kernel() defines the patterns.
struct ModeRule {
  std::optional<std::string> group = {};   ///< name or description of the group
  std::optional<std::string> kernel = {};  ///< names of kernels
  std::vector<std::int32_t> streams = {};  ///< numbers of streams; empty: all
  std::vector<std::int32_t> ranks = {};    ///< that run the slice; empty: all
  KernelClass what = KernelClass::communication;
  Mode mode = Mode::none;    ///< none: inferred as for other communication
  NameId purpose = kNoName;  ///< kNoName: keep the purpose that was found
  std::string library = {};
  std::string why = {};       ///< why a kernel that looks like communication is not
  std::string source = {};    ///< note for readers
  std::string versions = {};  ///< note for readers
  NameId reason = kNoName;    ///< includes the position of the rule, such as modes.yaml:3:5

  /// Whether it names kernels that no other rule counts as communication.
  bool names_kernels() const { return kernel.has_value() || !streams.empty(); }
};

/// Rules; the first that matches decides.
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

/// A rule as a YAML mapping on one line: every key that is set, except the reason.
std::string to_yaml(const ModeRule&);

/// The text of a file that parse_mode_map() reads as an equal map, if the map has rules.
std::string to_yaml(const ModeMap&);

/// The words that the key `mode` of a rule can have.
std::span<const std::string_view> mode_words();

/// Sets the key `mode` of a rule to one of mode_words().
void set_mode(ModeRule&, std::string_view word);

}  // namespace underlap::attribution
