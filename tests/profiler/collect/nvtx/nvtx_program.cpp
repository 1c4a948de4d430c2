// SPDX-License-Identifier: Apache-2.0

#include "profiler/collect/nvtx/nvtx_ranges.hpp"

#include <cstdio>

// Opens two nested ranges. The tool, where there is one, writes down what it receives.
int main() {
  underlap::NvtxRanges ranges;
  std::puts(ranges.is_enabled() ? "enabled" : "disabled");
  std::fflush(stdout);
  const underlap::Tag tag{.kind = underlap::Kind::communication,
                          .mode = underlap::Mode::dp,
                          .direction = underlap::Direction::backward,
                          .purpose = underlap::intern("grad_reduce_scatter"),
                          .layer = 5,
                          .microbatch = 1,
                          .bucket = 2,
                          .step = 40};
  ranges.push(underlap::intern("reduce_scatter"), tag, 12345678901, 17);
  ranges.push(underlap::intern("gemm"), {.layer = 6}, 12345678902, 18);
  ranges.pop();
  ranges.pop();
}
