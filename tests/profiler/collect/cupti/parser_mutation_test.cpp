// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "profiler/collect/cupti/activity_parser.hpp"
#include "tests/profiler/collect/cupti/synthetic_buffer.hpp"

namespace underlap::cupti {
namespace {

std::vector<std::uint8_t> synthetic_bytes() {
  SyntheticBuffer buffer;
  for (std::uint32_t i = 1; i < 4; ++i)
    buffer.add(synthetic_external(i, i))
        .add(synthetic_call(i))
        .add(synthetic_kernel(i))
        .add(synthetic_copy(i))
        .add(synthetic_peer_copy(i))
        .add(synthetic_memset(i))
        .add(synthetic_synchronization())
        .add(synthetic_event())
        .add(synthetic_overhead());
  return std::move(buffer.storage());
}

// Changes bytes, whole words and the length; words are mostly small, so that kinds become other kinds.
std::vector<std::uint8_t> mutated(std::vector<std::uint8_t> bytes, std::mt19937& random) {
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
    const std::size_t at = below(bytes.size());
    if (below(2) == 0) {
      bytes[at] = static_cast<std::uint8_t>(random());
    } else if (const std::size_t word = at / 8 * 8; word + 8 <= bytes.size()) {
      const std::uint64_t value = below(2) == 0 ? below(64) : (std::uint64_t{random()} << 32 | random());
      std::memcpy(bytes.data() + word, &value, sizeof(value));
    }
  }
  bytes.resize(below(3) == 0 ? below(bytes.size()) : bytes.size());
  return bytes;
}

// In memory of its own with nothing behind it, so that a sanitizer sees the first byte read past the end.
Activities parse_alone(const ActivityParser& parser, const std::vector<std::uint8_t>& bytes) {
  const auto alone = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), alone.get());
  Activities activities;
  parser.parse({alone.get(), bytes.size()}, activities);
  return activities;
}

std::int64_t num_rows(const Activities& read) {
  return static_cast<std::int64_t>(read.kernels.size() + read.copies.size() + read.memsets.size() +
                                   read.synchronizations.size() + read.events.size() + read.overheads.size() +
                                   read.external_correlations.size() + read.api_calls.size());
}

void expect_sound(const Activities& read) {
  for (const KernelActivity& kernel : read.kernels) {
    ASSERT_LE(kernel.at.start_ns, kernel.at.end_ns);
    ASSERT_GT(kernel.at.start_ns, 0);
    ASSERT_GT(kernel.grid.x, 0);
  }
  for (const CopyActivity& copy : read.copies) ASSERT_GE(copy.bytes, 0);
  ASSERT_LE(num_rows(read), read.num_records);
  std::int64_t skipped = 0;
  for (const auto& [reason, count] : read.skipped) skipped += count;
  ASSERT_LE(read.num_records, num_rows(read) + skipped) << "a record vanished without a reason";
}

std::optional<NameId> no_name(std::uint64_t) { return kNoName; }

TEST(ActivityParserMutations, ThousandsOfSpoiledBuffersAreReadWithinTheirBounds) {
  std::mt19937 random(20240403);
  const std::vector<std::uint8_t> good = synthetic_bytes();
  for (const std::uint32_t version : {22U, 26U, 130001U, 130101U, 130500U}) {
    const ActivityParser parser(version, no_name);
    for (int i = 0; i < 2000; ++i) expect_sound(parse_alone(parser, mutated(good, random)));
  }
}

// A library that answers anything within a step, as a newer release's might when a buffer is spoiled.
TEST(ActivityParserMutations, AnyAnswerOfTheLibraryIsFollowedWithinTheBuffer) {
  std::mt19937 random(7);
  const std::vector<std::uint8_t> good = synthetic_bytes();
  const ActivityParser parser(
      140000, no_name,
      [&random](std::span<const std::uint8_t> buffer, const std::uint8_t* previous) -> const std::uint8_t* {
        if (random() % 16 == 0) return nullptr;
        const std::uint8_t* const from = previous == nullptr ? buffer.data() : previous;
        return from + (previous == nullptr && random() % 4 != 0 ? 0 : random() % 300);
      });
  for (int i = 0; i < 4000; ++i) expect_sound(parse_alone(parser, mutated(good, random)));
}

}  // namespace
}  // namespace underlap::cupti
