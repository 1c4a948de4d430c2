// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace underlap::formats {

/// Names a file that no reader can use, and what to give instead: "an Nsight Systems report; export it: nsys export
/// --type=sqlite ...". Empty for a trace and for an unknown file.
///
/// begin   the first bytes of the file, decompressed, up to kSniffBytes
///
/// Fails when the marks of a known kind come after these bytes: the file is then unknown.
std::string unreadable(std::string_view begin);

/// The same for an SQLite database, by the names of its tables.
std::string unreadable_database(const std::set<std::string>& tables);

/// What to record instead of a PyTorch trace, or an Nsight Systems report, without GPU work.
inline constexpr std::string_view kRecordWithTorch =
    "record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])";
inline constexpr std::string_view kRecordWithNsys = "record with `nsys profile --trace=cuda,nvtx`";

}  // namespace underlap::formats
