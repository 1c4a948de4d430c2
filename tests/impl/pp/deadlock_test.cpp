// SPDX-License-Identifier: Apache-2.0
// Every pipeline from 2 to 16 stages and 1 to 4 virtual ones: transfers meet, nothing is stuck and no buffer is used
// twice, on devices of 1, 8 and 32 hardware queues that hold few commands.
#include <gmock/gmock.h>

#include <set>

#include "tests/impl/damage.hpp"
#include "tests/impl/pp/techniques.hpp"

namespace underlap::pp {
namespace {

// Of more stages a part of what the rules allow: it takes time with their square.
constexpr std::int64_t kFullySearched = 6;

// Numbers of microbatches around what a pipeline of p stages treats apart; with virtual stages multiples of p.
std::set<std::int64_t> microbatch_counts(std::int64_t p, bool is_interleaved) {
  if (is_interleaved) return p > kFullySearched ? std::set{p, 2 * p} : std::set{p, 2 * p, 3 * p};
  return {1, p - 1, p, p + 1, 2 * p + 1};
}

// The smallest, the largest, one that leaves a remainder.
std::set<std::int64_t> group_sizes(std::int64_t p, std::int64_t num_microbatches) {
  std::set<std::int64_t> sizes{p};
  if (p <= kFullySearched) sizes.insert(num_microbatches);
  for (std::int64_t size = p + 1; size < num_microbatches; ++size)
    if (num_microbatches % size >= p) return sizes.insert(size), sizes;
  return sizes;
}

class AnyPipeline : public testing::TestWithParam<std::tuple<TechniqueCase, std::int32_t>> {};

INSTANTIATE_TEST_SUITE_P(Techniques, AnyPipeline,
                         testing::Combine(testing::ValuesIn(technique_cases()), testing::Range(2, 17)),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).name + std::to_string(std::get<1>(parameter.param));
                         });

void expect_well(const PipelineCase& c) {
  const check::CheckReport report =
      check::check_programs(VirtualPipeline(c).programs(1), {.connections = {32, 8, 1}, .launch_queue_depth = 16});
  EXPECT_TRUE(report.findings.empty()) << c.num_chunks << " chunks, " << c.num_microbatches
                                       << " microbatches, groups of " << c.group_size << "\n"
                                       << testing_support::text_of(report);
}

TEST_P(AnyPipeline, IsWellOnFewQueuesThatHoldFewCommands) {
  const auto& [technique, num_stages] = GetParam();
  if (num_stages < technique.fewest_stages) return;
  if (technique.num_tensor > 1 && num_stages > kFullySearched) return;  // ranks of a stage only double the work
  PipelineCase c = technique.of(num_stages, 1, 0);
  for (const std::int64_t m : microbatch_counts(num_stages, technique.is_interleaved)) {
    c.num_microbatches = m;
    if (!technique.is_interleaved) expect_well(c);
    for (c.num_chunks = 2; technique.is_interleaved && c.num_chunks <= 4;
         c.num_chunks += num_stages > kFullySearched ? 2 : 1)
      for (const std::int64_t size : group_sizes(num_stages, m)) {
        c.group_size = size;
        expect_well(c);
      }
    c.num_chunks = 1;
  }
}

}  // namespace
}  // namespace underlap::pp
