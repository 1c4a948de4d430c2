// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "profiler/formats/format.hpp"
#include "profiler/formats/perfetto/fields.hpp"
#include "profiler/formats/perfetto/packets.hpp"
#include "profiler/formats/perfetto/reader.hpp"
#include "profiler/formats/perfetto/writer.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using namespace testing_support;  // NOLINT
using namespace ::testing;        // NOLINT

Trace read(const std::string& bytes) { return read_perfetto(bytes, "test bytes"); }

std::string written(const std::vector<Trace>& blocks, std::vector<std::size_t>* ends = nullptr) {
  const TemporaryFolder folder;
  PerfettoWriter writer(folder / "t.pftrace");
  for (const Trace& block : blocks) {
    writer.append(block);
    if (ends != nullptr) ends->push_back(static_cast<std::size_t>(writer.bytes()));
  }
  return read_text(folder / "t.pftrace");
}

// The slices of `trace`, one text each.
std::vector<std::string> slices_of(const Trace& trace) {
  std::vector<std::string> slices;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    Trace one;
    one.groups = trace.groups;
    one.tracks = {trace.tracks[trace.track(i)]};
    Slice slice = trace.slice(i);
    slice.track = 0;
    if (const CommunicationRecord* record = trace.communication(i)) {
      one.groups = {trace.groups[record->group]};
      CommunicationRecord copy = *record;
      copy.group = 0;
      one.add(slice, copy);
    } else {
      one.add(slice);
    }
    slices.push_back(everything(one));
  }
  return slices;
}

// A stream with one packet in the place where our block begins.
std::string with_schema(const std::string& schema) {
  std::string bytes;
  protozero::pbf_writer stream(bytes);
  protozero::pbf_writer packet(stream, perfetto::kTracePacket);
  protozero::pbf_writer ours(packet, perfetto::packet::kUnderlap);
  ours.add_string(perfetto::underlap_message::kSchema, schema);
  return (ours.commit(), packet.commit(), bytes);
}

TEST(PerfettoReader, KeepsWhatPrecedesACutAndCountsTheRest) {
  std::mt19937 random(3);
  const std::vector<Trace> blocks{random_trace(random, {.num_slices = 6}), random_trace(random, {.num_slices = 5})};
  std::vector<std::size_t> ends;
  const std::string whole = written(blocks, &ends);
  Trace sum;
  for (const Trace& block : blocks) sum.append(block);
  const std::vector<std::string> all = slices_of(sum);
  std::size_t num_read = 0;
  for (std::size_t length = 1; length < whole.size(); ++length) {
    Trace cut;
    if (error_of([&] { cut = read(whole.substr(0, length)); }) != "") {
      ASSERT_EQ(num_read, 0U) << "refused at " << length << " although a shorter file was read";
      continue;
    }
    const std::vector<std::string> slices = slices_of(cut);
    ASSERT_GE(slices.size(), num_read) << length;
    ASSERT_LE(slices.size(), all.size()) << length;
    for (std::size_t i = 0; i < slices.size(); ++i) ASSERT_EQ(slices[i], all[i]) << length;
    num_read = slices.size();
    const bool at_block_end = length == ends[0];
    ASSERT_EQ(cut.import.num_skipped() == 0, at_block_end) << length;
    const bool second_begun = length > ends[0] && cut.import.skipped.contains("truncated block");
    const std::int64_t missing =
        cut.import.skipped["slices lost in a truncated block"] + cut.import.skipped["slice without an end"];
    ASSERT_EQ(static_cast<std::int64_t>(slices.size()) + missing, second_begun ? 11 : 6) << length;
  }
  EXPECT_EQ(num_read, all.size());
}

TEST(PerfettoReader, KeepsWhatPrecedesACutOfACompressedFile) {
  const TemporaryFolder folder;
  std::mt19937 random(4);
  const Trace first = random_trace(random);
  const auto path = folder / "t.pftrace.zst";
  PerfettoWriter writer(path);
  writer.append(first);
  const auto end = static_cast<std::size_t>(writer.bytes());
  writer.append(random_trace(random));
  const std::string whole = read_text(path);
  for (const std::size_t length : {end + 1, end + 5, end + 40, whole.size() - 1}) {
    write_text(path, whole.substr(0, length));
    const Trace cut = read_trace(path);
    EXPECT_GE(cut.size(), first.size()) << length;
    EXPECT_EQ(cut.import.skipped.at("compressed data is truncated"), 1) << length;
  }
}

// Of one flipped bit a reader may say much, but it never gives another trace as if it were whole.
TEST(PerfettoReader, SeesAnyFlippedBit) {
  std::mt19937 random(13);
  const std::string whole = written({random_trace(random, {.num_slices = 3}),
                                     random_trace(random, {.num_ranks = 3, .num_slices = 3, .is_foreign = true})});
  const std::string expected = everything(read(whole));
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += 3) {
    std::string bytes = whole;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    error_of([&] {  // or refused
      const Trace trace = read(bytes);
      EXPECT_TRUE(trace.import.num_skipped() > 0 || everything(trace) == expected) << "bit " << bit;
    });
  }
}

// The bytes of `whole` from which the packets [first, first + count) are taken out.
std::string without_packets(const std::string& whole, int first, int count) {
  const char* at = whole.data();
  const char* begin = at;
  protozero::data_view packet;
  for (int i = 0; i < first + count; ++i) {
    if (i == first) begin = at;
    EXPECT_EQ(take_packet(at, whole.data() + whole.size(), packet), NextPacket::whole);
  }
  return std::string(whole.data(), begin) + std::string(at, whole.data() + whole.size());
}

Trace two_slices() {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  for (const std::int64_t start : {10, 20}) trace.add(slice_of(0, start, 5));
  return trace;
}

// The packets are: block, ranks, rank, lane, two slices of two packets, the end of the block.
TEST(PerfettoReader, CountsSlicesThatAreMissingFromABlock) {
  const std::string whole = written({two_slices(), two_slices()});
  const std::map<std::string, std::int64_t> both_missing{{"block whose checksum does not match", 1},
                                                         {"slices missing from a block", 2}};
  EXPECT_EQ(read(without_packets(whole, 4, 4)).import.skipped, both_missing);
  const Trace end_missing = read(without_packets(whole, 5, 1));
  EXPECT_EQ(end_missing.size(), 3U);
  EXPECT_EQ(end_missing.import.skipped.at("slice without an end"), 1);
}

TEST(PerfettoReader, CountsAnEndWhoseBlockDidNotBegin) {
  const std::string whole = written({two_slices(), two_slices()});
  // The second block says its tracks no more: its first packet is the tenth.
  const Trace read_back = read(without_packets(whole, 9, 1));
  EXPECT_EQ(read_back.import.skipped.at("end of a block whose start is missing"), 1);
  EXPECT_EQ(read_back.import.skipped.at("slices that their block did not declare"), 2);
}

TEST(PerfettoReader, CountsACommunicationWithoutAGroup) {
  Trace trace = two_slices();
  trace.add_group({intern("grad_reduce_scatter"), {0, 1}});
  trace.add(slice_of(0, 40, 5, "", {.kind = Kind::communication}), {.sequence = 3, .transfers = {{}}});
  std::string bytes = written({trace});
  const std::string name = "\x12\x05group";  // field 2 of five letters: the annotation that gives a slice its group
  ASSERT_NE(bytes.find(name), std::string::npos);
  bytes[bytes.find(name) + 2] = 'G';
  const Trace read_back = read(bytes);
  EXPECT_EQ(read_back.size(), 2U);
  EXPECT_EQ(read_back.import.skipped.at("communication without a group"), 1);
}

TEST(PerfettoReader, CountsTimesThatOverflow) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  Trace trace = two_slices();
  for (const std::int64_t start : {-kFar, kFar}) trace.add(slice_of(0, start, 5));
  trace.add(slice_of(0, -1, kFar + 1));
  trace.marks = {{0, 0, 1, 5}, {0, 0, 2, kFar}};
  trace.clocks = {{0, 5, 6}, {1, -kFar, 6}, {2, 5, kFar}};
  const Trace read_back = read(written({trace}));
  EXPECT_EQ(read_back.size(), 2U);
  EXPECT_EQ(read_back.marks.size(), 1U);
  EXPECT_EQ(read_back.clocks.size(), 1U);
  EXPECT_EQ(read_back.import.skipped, (std::map<std::string, std::int64_t>{{"clock reading whose time overflows", 2},
                                                                           {"mark whose time overflows", 1},
                                                                           {"slice whose time overflows", 3}}));
}

TEST(PerfettoReader, CountsNumbersThatAreOutOfRange) {
  Trace trace = two_slices();
  trace.add_group({kNoName, {0}});
  for (const std::int64_t bytes : {std::int64_t{-1}, std::int64_t{1} << 51})
    trace.add(slice_of(0, 40, 5, "", {.kind = Kind::communication}), {.transfers = {{.bytes_on_wire = bytes}}});
  const Trace read_back = read(written({trace}));
  EXPECT_EQ(read_back.size(), 2U);
  EXPECT_EQ(read_back.import.skipped.at("slice with a number out of range"), 2);
}

TEST(PerfettoReader, SurvivesAnyFlippedBits) {
  std::mt19937 random(5);
  const std::string whole =
      written({random_trace(random, {.num_slices = 12, .is_foreign = true}), random_trace(random)});
  std::uniform_int_distribution<std::size_t> place(0, whole.size() - 1);
  std::uniform_int_distribution<int> bit(0, 7);
  int num_read = 0;
  for (int mutation = 0; mutation < 4000; ++mutation) {
    std::string bytes = whole;
    for (int flips = 1 + mutation % 4; flips > 0; --flips) bytes[place(random)] ^= static_cast<char>(1 << bit(random));
    error_of([&] {  // where the packet that says whose trace it is was hit
      EXPECT_TRUE(is_sound(read(bytes))) << mutation;
      ++num_read;
    });
  }
  EXPECT_GT(num_read, 3000);
}

TEST(PerfettoReader, CountsForeignPacketsAndKeepsOurs) {
  std::mt19937 random(9);
  const Trace ours = random_trace(random);
  std::string bytes = written({ours});
  protozero::pbf_writer stream(bytes);
  for (const std::uint32_t field : {1, 33}) {  // kernel events, the trace's configuration
    protozero::pbf_writer packet(stream, perfetto::kTracePacket);
    packet.add_message(field, std::string());
  }
  {
    protozero::pbf_writer packet(stream, perfetto::kTracePacket);
    protozero::pbf_writer event(packet, perfetto::packet::kTrackEvent);
    event.add_enum(perfetto::event::kType, perfetto::event::kSliceBegin);
    event.add_uint64(perfetto::event::kTrackUuid, 12345);
  }
  const Trace read_back = read(bytes);
  EXPECT_EQ(everything(read_back), everything(ours));
  EXPECT_EQ(read_back.import.skipped.at("packet not written by Underlap"), 2);
  EXPECT_EQ(read_back.import.skipped.at("event on a track not written by Underlap"), 1);
}

TEST(PerfettoReader, RefusesAPerfettoTraceThatUnderlapDidNotWrite) {
  std::string bytes;
  protozero::pbf_writer stream(bytes);
  protozero::pbf_writer packet(stream, perfetto::kTracePacket);
  packet.add_uint64(perfetto::packet::kTimestamp, 5);
  packet.commit();
  EXPECT_THAT(error_of([&] { read(bytes); }), HasSubstr("not written by Underlap"));
}

TEST(PerfettoReader, RefusesANewerSchemaAndNamesBoth) {
  EXPECT_EQ(error_of([] { read(with_schema("underlap.trace/2")); }), "");
  EXPECT_THAT(error_of([] { read(with_schema("underlap.trace/3")); }),
              AllOf(HasSubstr("underlap.trace/3"), HasSubstr("underlap.trace/2"), HasSubstr("newer")));
}

}  // namespace
}  // namespace underlap::formats
