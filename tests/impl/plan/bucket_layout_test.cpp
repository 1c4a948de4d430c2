// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/bucket_layout.hpp"

#include <initializer_list>
#include <random>
#include <stdexcept>

#include "tests/testing.hpp"

namespace underlap::plan {
namespace {

std::vector<Parameter> parameters(std::initializer_list<std::int64_t> sizes) {
  std::vector<Parameter> result;
  for (const std::int64_t size : sizes) result.push_back({.name = "p", .rows = 1, .cols = size});
  return result;
}

std::vector<std::vector<std::int32_t>> members(const BucketLayout& layout) {
  std::vector<std::vector<std::int32_t>> result;
  for (const Bucket& bucket : layout.buckets) result.push_back(bucket.parameters);
  return result;
}

TEST(BucketLayout, FillsBucketsFromTheEndOfTheModel) {
  const BucketLayout layout = lay_out(parameters({100, 200, 300, 400}), {.bucket_size = 500, .num_shards = 2});
  EXPECT_THAT(members(layout), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  EXPECT_EQ(layout.offset_of[3], 0);
  EXPECT_EQ(layout.bucket_of[0], 1);
}

TEST(BucketLayout, ABucketClosesOnceItReachesTheSizeAndNotBefore) {
  EXPECT_EQ(lay_out(parameters({64, 64, 64}), {.bucket_size = 128, .num_shards = 1}).num_buckets(), 2);
  EXPECT_EQ(lay_out(parameters({64, 64, 64}), {.bucket_size = 129, .num_shards = 1}).num_buckets(), 1);
  EXPECT_EQ(lay_out(parameters({5000, 5000}), {.bucket_size = 10, .num_shards = 1}).num_buckets(), 2)
      << "the size is a minimum: a larger parameter is not cut";
}

TEST(BucketLayout, CountsParametersNotBytes) {
  const BucketLayout layout = lay_out(parameters({1000, 1000}), {.bucket_size = 1001, .num_shards = 1});
  EXPECT_EQ(layout.num_buckets(), 1) << "2000 bf16 bytes would have closed the first bucket";
}

TEST(BucketLayout, AlignsParametersAndPadsBucketsForEveryGroupSize) {
  const BucketLayout three = lay_out(parameters({10, 10}), {.bucket_size = std::nullopt, .num_shards = 3});
  EXPECT_EQ(three.offset_of[0], 64);
  EXPECT_EQ(three.elements, 384) << "lcm(3, 128)";
  const BucketLayout high = lay_out(
      parameters({10}), {.bucket_size = std::nullopt, .num_shards = 8, .pad_buckets_for_high_nccl_busbw = true});
  EXPECT_EQ(high.elements, 65536);
}

TEST(BucketLayout, ATiedEmbeddingHasABucketOfItsOwn) {
  std::vector<Parameter> list = parameters({100, 100, 100});
  list[1].shared_embedding = true;
  const BucketLayout layout = lay_out(list, {.bucket_size = std::nullopt, .num_shards = 2});
  EXPECT_THAT(members(layout), ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(0)));
}

TEST(BucketLayout, RefusesSizesThatCannotBe) {
  EXPECT_THROW(lay_out(parameters({10}), {.bucket_size = 0, .num_shards = 1}), std::invalid_argument);
  EXPECT_THROW(lay_out(parameters({10}), {.bucket_size = 1, .num_shards = 0}), std::invalid_argument);
  EXPECT_THROW(lay_out(parameters({0}), {.bucket_size = 1, .num_shards = 1}), std::invalid_argument);
}

TEST(BucketLayout, PadsNothingAndKeepsNoneApartWithoutShards) {
  std::vector<Parameter> list = parameters({10, 20, 30});
  list[1].shared_embedding = true;
  const BucketLayout layout = lay_out(list, {.num_shards = 8, .pads = false});
  ASSERT_EQ(layout.num_buckets(), 1);
  EXPECT_EQ(layout.elements, 60);
  EXPECT_EQ(lay_out(list, {.num_shards = 8}).num_buckets(), 3);
}

TEST(BucketLayout, HoldsEveryParameterOnceWithoutOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Parameter> list;
    for (int i = 0; i < 20; ++i)
      list.push_back({.name = "p",
                      .rows = 1 + static_cast<std::int64_t>(random() % 9),
                      .cols = 1 + static_cast<std::int64_t>(random() % 99),
                      .shared_embedding = random() % 9 == 0});
    const auto n = static_cast<std::int32_t>(1 + random() % 8);
    const BucketLayout layout =
        lay_out(list, {.bucket_size = 1 + static_cast<std::int64_t>(random() % 2000), .num_shards = n});
    std::int64_t end = 0;
    int seen = 0;
    for (const Bucket& bucket : layout.buckets) {
      EXPECT_EQ(bucket.elements() % n, 0);
      EXPECT_EQ(bucket.begin, end);
      for (const std::int32_t p : bucket.parameters) {
        const std::int64_t offset = layout.offset_of[static_cast<std::size_t>(p)];
        EXPECT_EQ(offset % 64, 0);
        EXPECT_GE(offset, end);
        end = offset + list[static_cast<std::size_t>(p)].elements();
        ++seen;
      }
      EXPECT_LE(end, bucket.end);
      end = bucket.end;
    }
    EXPECT_EQ(seen, 20);
    EXPECT_EQ(layout.elements, end);
  }
}

}  // namespace
}  // namespace underlap::plan
