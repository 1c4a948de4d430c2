// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/formats/output_file.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench {

/// Replaces the results of a run by what zstd makes of them, as a run is recorded. Returns the file.
inline std::filesystem::path compress_results(const std::filesystem::path& run) {
  const std::filesystem::path plain = run / "results.json", compressed = run / "results.json.zst";
  formats::OutputFile file(compressed);
  file.write(testing_support::read_text(plain));
  file.close();
  std::filesystem::remove(plain);
  return compressed;
}

}  // namespace underlap::bench
