// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto_writer/writer.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "profiler/formats/kineto_writer/rank_writer.hpp"
#include "profiler/formats/output_file.hpp"
#include "profiler/formats/writable.hpp"

namespace underlap::formats {
namespace {

// A trace without any rank is a file all the same, of a rank 0 that did nothing.
std::set<std::int32_t> ranks_of(const Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  for (const Mark& mark : trace.marks) ranks.insert(mark.rank);
  for (const ClockSnapshot& clock : trace.clocks) ranks.insert(clock.rank);
  if (ranks.empty()) ranks.insert(0);
  return ranks;
}

// Inserts the rank after NAME, before ".json.gz" or ".json".
std::filesystem::path file_of_rank(const std::filesystem::path& path, std::int32_t rank) {
  std::filesystem::path name = path.filename();
  std::string extensions;
  for (const std::string_view extension : {".gz", ".zst", ".json"})
    if (name.extension() == extension) {
      extensions.insert(0, extension);
      name = name.stem();
    }
  return path.parent_path() / fmt::format("{}.rank{}{}", name.string(), rank, extensions);
}

}  // namespace

std::vector<std::filesystem::path> kineto_files(const std::filesystem::path& path, const Trace& trace) {
  const std::set<std::int32_t> ranks = ranks_of(trace);
  if (ranks.size() == 1) return {path};
  std::vector<std::filesystem::path> files;
  for (const std::int32_t rank : ranks) files.push_back(file_of_rank(path, rank));
  return files;
}

void write_kineto(const std::filesystem::path& path, const Trace& trace) {
  check_writable(trace);
  const std::vector<std::filesystem::path> files = kineto_files(path, trace);
  auto file = files.begin();
  for (const std::int32_t rank : ranks_of(trace)) {
    OutputFile out(*file++);
    KinetoRank(trace, rank).write([&](std::string_view piece) { out.write(piece); });
    out.close();
  }
}

}  // namespace underlap::formats
