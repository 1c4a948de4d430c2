// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <array>
#include <protozero/pbf_writer.hpp>

#include "profiler/formats/output_file.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/perfetto/slice.hpp"
#include "profiler/formats/pftrace/decoder.hpp"
#include "profiler/formats/pftrace/reader.hpp"
#include "tests/profiler/formats/pftrace_file.hpp"
#include "tests/profiler/formats/trace_text.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::formats {
namespace {

using namespace testing_support;  // NOLINT
using namespace ::testing;        // NOLINT
using Table = PftraceFile::Table;

pftrace::Events decode(const std::string& bytes, std::size_t most_bytes) {
  pftrace::Decoder decoder(most_bytes, [] {});
  const char* at = bytes.data();
  protozero::data_view packet;
  while (at != bytes.data() + bytes.size() && take_packet(at, bytes.data() + bytes.size(), packet) == NextPacket::whole)
    decoder.add_packet(packet);
  return decoder.finish();
}

struct Huge {
  std::array<char, 1 << 24> bytes;
};

TEST(PftraceDamage, LargeIdsTakeNoTable) {
  ById<Huge> huge;
  EXPECT_NO_THROW(huge[65535].bytes[0] = 'x');  // a table would take 1 TiB
  EXPECT_EQ(huge.find(65534), nullptr);
  ById<std::uint64_t> ids;
  for (const std::uint64_t id : {40, 20, 17, 1 << 20}) ids[id] = id;
  for (std::uint64_t id = 0; id < 100; ++id) ids[id] += id;
  ids[~std::uint64_t{0}] = 7;
  for (std::uint64_t id = 0; id < 100; ++id) {
    const bool was_known = id == 40 || id == 20 || id == 17;
    ASSERT_NE(ids.find(id), nullptr);
    EXPECT_EQ(*ids.find(id), was_known ? 2 * id : id);
  }
  EXPECT_EQ(*ids.find(1 << 20), 1U << 20);
  EXPECT_EQ(*ids.find(~std::uint64_t{0}), 7U);
  EXPECT_EQ(ids.find(100), nullptr);
}

// A slice with an array of this many references to a text of this length.
std::string array_of_texts(int count, std::size_t length) {
  PftraceFile file;
  file.track(1, 0, "stream 7");
  file.intern({{Table::texts, {1, std::string(length, '1')}}});
  std::string packet;
  {
    protozero::pbf_writer writer(packet);
    writer.add_uint64(8, 100);
    writer.add_uint32(10, 1);
    protozero::pbf_writer event(writer, 11);
    event.add_uint32(9, 1);
    event.add_uint64(11, 1);
    event.add_string(23, "a");
    protozero::pbf_writer annotation(event, 4);
    annotation.add_string(10, "Process Group Ranks");
    for (int i = 0; i < count; ++i) protozero::pbf_writer(annotation, 12).add_uint64(17, 1);
  }
  file.packet(packet);
  file.end({1, 100, 200, "a"});
  return file.bytes;
}

TEST(PftraceDamage, ArraysOfALongTextAreLimited) {
  const Trace trace = read_trace_text(array_of_texts(1000, 100'000));
  EXPECT_EQ(trace.import.skipped.at("argument that is too long"), 1);
  EXPECT_EQ(names_of(trace), std::vector<std::string>{"a"});
  EXPECT_THAT(read_trace_text(array_of_texts(1000, 100)).import.skipped, IsEmpty());
  const std::string small = array_of_texts(20, 100);
  EXPECT_THAT(decode(small + small, 4000).skipped, IsEmpty());
  EXPECT_THAT(decode(small + small, 3999).skipped, ElementsAre(Pair("argument that is too long", 1)));
}

TEST(PftraceDamage, CompressedPacketsShareALimit) {
  PftraceFile file;
  for (int i = 0; i < 100; ++i) file.begin({1, i, 0, "a"});
  for (const std::uint32_t field : {50, 133}) {
    std::string packet;
    protozero::pbf_writer(packet).add_bytes(field, field == 50 ? zlib_stream(file.bytes) : zstd_frame(file.bytes));
    std::string packed;
    protozero::pbf_writer(packed).add_message(1, packet);
    EXPECT_EQ(decode(packed + packed, 2 * file.bytes.size() + 1).events.size(), 200U);
    const pftrace::Events cut = decode(packed + packed + packed, file.bytes.size() * 3 / 2);
    EXPECT_LE(cut.events.size(), 150U);
    EXPECT_GE(cut.events.size(), 100U);
    EXPECT_THAT(cut.skipped, ElementsAre(Pair("compressed packet that is truncated, corrupt or too large", 2)));
  }
}

TEST(PftraceDamage, SnapshotsThatAddUpToAnOverflowAreDropped) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 61;
  PftraceFile file;
  file.track(1, 0, "stream 7");
  file.slice({1, 100, 200, "a"});
  for (std::uint64_t clock = 10; clock < 17; ++clock) file.clocks({{clock, kFar}, {clock + 1, 0}});
  file.clocks({{17, kFar}, {128, 0}});  // eight times this offset is 0 in 64 bits
  file.begin({1, 300, 0, "b"}, 128);
  file.end({1, 0, 400, ""}, 128);
  const Trace trace = read_trace_text(file.bytes);
  EXPECT_EQ(trace.import.skipped.at("time on an unknown clock, or overflowing"), 2);
  EXPECT_EQ(names_of(trace), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace underlap::formats
