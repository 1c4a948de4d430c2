// SPDX-License-Identifier: Apache-2.0
// From a real export of Nsight Systems to its exposure, as a program that uses the library would go.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "profiler/analysis/analysis.hpp"
#include "profiler/attribution/attribution.hpp"
#include "profiler/formats/format.hpp"

namespace underlap {
namespace {

struct RankFigures {
  std::int64_t comm_ns, exposed_ns, compute_ns, span_ns, idle_ns;
};

TEST(NsysExposure, IsThatOfTheRealFile) {
  const char* folder = std::getenv("UNDERLAP_REAL_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "UNDERLAP_REAL_TRACES names no folder with real traces";
  Trace trace = formats::read_trace(std::filesystem::path(folder) / "nsys_2gpu_h100" / "before.sqlite");
  attribution::attribute(trace);
  const analysis::Summary summary = analysis::summarise(trace);
  const RankFigures expected[] = {{17172652, 17172652, 253690832, 299848812, 26031025},
                                  {8229100, 8229100, 256095624, 298661551, 31385635}};
  ASSERT_EQ(summary.ranks.size(), 2U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const analysis::RankSummary& found = summary.ranks[rank];
    EXPECT_EQ(found.comm_kernels, 33);
    EXPECT_EQ(found.compute_kernels, rank == 0 ? 1960 : 1984);
    EXPECT_EQ(found.total.comm_ns(), expected[rank].comm_ns);
    EXPECT_EQ(found.total.exposed_ns(), expected[rank].exposed_ns);
    EXPECT_EQ(found.total.compute_ns(), expected[rank].compute_ns);
    EXPECT_EQ(found.total.window_ns, expected[rank].span_ns);
    EXPECT_EQ(found.total.idle_ns, expected[rank].idle_ns);
  }
}

}  // namespace
}  // namespace underlap
