// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/read_ahead.hpp"

#include <gtest/gtest.h>

#include <random>

#include "profiler/formats/output_file.hpp"
#include "profiler/formats/perfetto/reader.hpp"
#include "profiler/formats/perfetto/writer.hpp"
#include "profiler/trace/reading.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using namespace testing_support;  // NOLINT

// Of several blocks, whose ends cut words.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 5'000'000; ++i) text += std::to_string(i) + " ";
  return text;
}

TEST(ReadAhead, GivesTheBytesOfTheFileUnpacked) {
  const TemporaryFolder folder;
  const std::string text = long_text();
  write_text(folder / "x", text);
  write_text(folder / "x.zst", zstd_frame(text));
  for (const char* name : {"x", "x.zst"}) {
    ByteStream stream(folder / name);
    ReadAhead ahead(stream);
    std::string bytes(text.size() + 1, '\0');
    EXPECT_EQ(ahead.read(std::span(bytes).first(77'777)), 77'777U);
    EXPECT_EQ(ahead.read(std::span(bytes).subspan(77'777)), text.size() - 77'777);
    EXPECT_TRUE(bytes.substr(0, text.size()) == text) << name;
  }
}

TEST(ReadAhead, MayBeLeftBeforeAllIsRead) {
  const TemporaryFolder folder;
  write_text(folder / "x", long_text());
  ByteStream stream(folder / "x");
  char first = 0;
  EXPECT_EQ(ReadAhead(stream).read({&first, 1}), 1U);
}

// Packets and blocks lie across the pieces' ends, and the file ends within one.
TEST(ReadAhead, GivesTheTraceThatTheWholeFileGives) {
  const TemporaryFolder folder;
  PerfettoWriter writer(folder / "t.pftrace");
  std::mt19937 random(3);
  while (writer.bytes() < 3'000'000) writer.append(random_trace(random));
  std::string bytes = read_text(folder / "t.pftrace");
  for (const std::size_t length :
       {bytes.size(), (std::size_t{1} << 20) + 1, std::size_t{1} << 20, std::size_t{77'777}}) {
    bytes.resize(length);
    write_text(folder / "cut.pftrace", bytes);
    const Trace whole = read_perfetto(bytes, "whole");
    Reading unwatched;
    const Trace in_pieces = read_perfetto(folder / "cut.pftrace", unwatched);
    EXPECT_TRUE(everything(in_pieces) == everything(whole)) << length;
    EXPECT_EQ(in_pieces.import.skipped, whole.import.skipped);
  }
}

}  // namespace
}  // namespace underlap::formats
