// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underlap::input {

/// Whether `a` comes before `b` as a person sorts names: "rank2" before "rank10".
bool naturally_before(std::string_view a, std::string_view b);

/// The rank in the name of a file, as in "rank-3.json", "rank_3", "rank3" and "worker3_step_12.json".
/// Fails when the number is not the rank, as in "node1_local_rank3.json".
std::optional<std::int32_t> rank_in_name(const std::filesystem::path& file);

/// Whether `path` is the folder of a run of ours: it has a folder `traces`, or holds native traces.
bool is_run_folder(const std::filesystem::path& path);

/// The native traces of a run's folder (its traces/, or itself where it has none), in the order of their names. Throws
/// std::invalid_argument where there are none.
std::vector<std::string> traces_of_run(const std::filesystem::path& folder);

/// The files that `arguments` name: files as they are, of a folder all that are traces by their content, and what a
/// pattern of * ? [] fits where there is no file of that name. More than one come in natural order. A folder without
/// traces may hold folders iteration_N with those of all ranks, as torchtitan writes them: the only one is taken.
/// Throws std::invalid_argument where an argument names nothing, or a folder with several iterations.
std::vector<std::string> trace_files(const std::vector<std::string>& arguments);

/// The ranks of files that do not contain their rank.
struct AssumedRanks {
  std::map<std::string, std::int32_t> by_file;  ///< if each name has a different rank
  std::string how;                              ///< the method, in one sentence
};
AssumedRanks assumed_ranks(const std::vector<std::string>& files);

}  // namespace underlap::input
