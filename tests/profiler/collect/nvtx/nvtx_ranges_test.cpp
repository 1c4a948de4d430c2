// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/nvtx/nvtx_ranges.hpp"

#include <gmock/gmock.h>

#include <array>
#include <string>

namespace underlap {
namespace {

// What the program and the tool inside it print.
std::string output_with_tool(const std::string& tool) {
  const std::string command =
      (tool.empty() ? "" : "NVTX_INJECTION64_PATH='" + tool + "' ") + "'" UNDERLAP_NVTX_PROGRAM "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return "the program cannot be started";
  std::string output;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe.get()) != nullptr) output += part.data();
  return output;
}

TEST(NvtxRanges, ReachAToolWithDomainNameAndTag) {
#if !UNDERLAP_HAS_NVTX_PAYLOAD
  GTEST_SKIP() << "this toolkit's NVTX has no extended payloads";
#endif
  EXPECT_EQ(output_with_tool(UNDERLAP_NVTX_TOOL),
            "domain underlap\n"
            "schema underlap operation\n"
            "enabled\n"
            "push reduce_scatter operation=12345678901 number=17 layer=5 microbatch=1 bucket=2 chunk=-1 step=40"
            " kind=communication mode=dp direction=backward purpose=grad_reduce_scatter\n"
            "push gemm operation=12345678902 number=18 layer=6 microbatch=-1 bucket=-1 chunk=-1 step=-1"
            " kind=compute mode=none direction=none purpose=\n"
            "pop\n"
            "pop\n"
            "destroyed\n");
}

TEST(NvtxRanges, CarryTheOperationsIdWhereAToolReadsNoExtendedPayloads) {
  EXPECT_EQ(output_with_tool(UNDERLAP_NVTX_PLAIN_TOOL),
            "domain underlap\n"
            "enabled\n"
            "push reduce_scatter payload 12345678901\n"
            "push gemm payload 12345678902\n"
            "pop\n"
            "pop\n"
            "destroyed\n");
}

TEST(NvtxRanges, DoNothingWithoutATool) { EXPECT_EQ(output_with_tool(""), "disabled\n"); }

}  // namespace
}  // namespace underlap
