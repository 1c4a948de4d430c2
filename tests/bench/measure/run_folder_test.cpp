// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/run_folder.hpp"

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

TEST(TraceFileName, IsAFilesNameHoweverLongTheCells) {
  const std::string a = trace_file_name(3, std::string(5000, 'a') + "x"),
                    b = trace_file_name(3, std::string(5000, 'a'));
  EXPECT_THAT(a, StartsWith("traces/03-aaa"));
  EXPECT_LE(a.size() - std::string("traces/").size(), 255U);
  EXPECT_NE(a, b) << "their names differ behind what is cut";
  EXPECT_EQ(trace_file_name(3, "off"), "traces/03-off.pftrace");
}

TEST(TraceFileName, CutsNoLetter) {
  std::string name = "x";
  for (int i = 0; i < 100; ++i) name += "\u00e4";
  const std::string file = trace_file_name(0, name);
  const std::size_t cut = file.find_last_of('-');
  EXPECT_EQ(file.substr(cut - 2, 2), "\u00e4");
}

}  // namespace
}  // namespace underlap::bench
