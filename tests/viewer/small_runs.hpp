// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::viewer::testing_support {

/// Copies the results of a recorded run into a folder, compressed as they are.
inline void copy_recorded_run(const std::filesystem::path& to) {
  const std::filesystem::path file = report::find_results(UNDERLAP_RESULTS_FOLDER "/quick/paced").value();
  std::filesystem::copy_file(file, to / file.filename());
}

/// Writes a recorded run into a folder, as so many ranks would have made it, over a link that is called so.
inline void make_sized_run(const std::filesystem::path& run, std::int32_t ranks, const char* link = nullptr) {
  report::RunResults results = report::read_results(UNDERLAP_RESULTS_FOLDER "/quick/paced");
  for (report::CellResult& cell : results.cells) cell.num_ranks = ranks;
  results.info.started_utc = run.string();  // what tells runs apart
  if (link != nullptr) results.info.link = link;
  std::filesystem::create_directories(run);
  report::write_results(run, results, report::Statistics::left_out);
}

}  // namespace underlap::viewer::testing_support
