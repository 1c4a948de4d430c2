// SPDX-License-Identifier: Apache-2.0
// A trace of tests/data/traces as an earlier Underlap wrote it: a step of two replicas of two stages of two chunks.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "profiler/formats/format.hpp"

namespace underlap::formats {
namespace {

using testing::ElementsAre;

class EarlierTrace : public testing::Test {
 protected:
  // The values of `field` in slices of that purpose.
  std::set<std::int32_t> values(const std::string& purpose, std::int32_t Tag::*field) const {
    std::set<std::int32_t> found;
    for (std::size_t i = 0; i < trace_.size(); ++i)
      if (name_of(trace_.tag(i).purpose) == purpose) found.insert(trace_.tag(i).*field);
    return found;
  }

  Trace trace_ = read_trace(UNDERLAP_TRACES_FOLDER "/bucket_and_chunk_in_one_number.pftrace.zst");
};

TEST_F(EarlierTrace, IsReadWholeAlthoughItHasNoChecksum) { EXPECT_EQ(trace_.import.num_skipped(), 0); }

TEST_F(EarlierTrace, HasBucketsOfDataParallelTransfersAndOfTheOptimizer) {
  EXPECT_THAT(values("grad_reduce_scatter", &Tag::bucket), ElementsAre(0, 1));
  EXPECT_THAT(values("grad_reduce_scatter", &Tag::chunk), ElementsAre(-1));
  EXPECT_THAT(values("adam", &Tag::bucket), ElementsAre(0, 1));
  EXPECT_THAT(values("adam", &Tag::chunk), ElementsAre(-1));
}

TEST_F(EarlierTrace, HasModelChunksOfPipelineTransfers) {
  EXPECT_THAT(values("send_forward", &Tag::chunk), ElementsAre(0, 1));
  EXPECT_THAT(values("send_forward", &Tag::bucket), ElementsAre(-1));
}

}  // namespace
}  // namespace underlap::formats
