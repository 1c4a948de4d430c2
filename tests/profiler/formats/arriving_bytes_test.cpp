// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/arriving_bytes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "profiler/formats/output_file.hpp"
#include "profiler/formats/perfetto/reader.hpp"
#include "profiler/formats/perfetto/writer.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using underlap::testing_support::everything;
using underlap::testing_support::read_text;
using underlap::testing_support::TemporaryFolder;
using underlap::testing_support::write_text;

// Of several pieces, whose ends cut words.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 5'000'000; ++i) text += std::to_string(i) + " ";
  return text;
}

std::string arrived(const std::filesystem::path& path) {
  ArrivingBytes file(path);
  std::string_view bytes;
  for (std::string_view more = file.beyond(0); more.size() > bytes.size(); more = file.beyond(bytes.size())) {
    EXPECT_TRUE(bytes.empty() || more.data() == bytes.data());
    bytes = more;
  }
  return std::string(bytes);
}

TEST(ArrivingBytes, AreThoseOfTheFileInOnePlace) {
  const TemporaryFolder folder;
  const std::string text = long_text();
  write_text(folder / "x", text);
  EXPECT_TRUE(arrived(folder / "x") == text);
}

TEST(ArrivingBytes, AreUnpackedAndSayWhyTheyEndEarly) {
  const TemporaryFolder folder;
  const std::string text = long_text();
  const std::string frame = zstd_frame(text);
  write_text(folder / "x.zst", frame);
  EXPECT_TRUE(arrived(folder / "x.zst") == text);
  write_text(folder / "x.zst", frame.substr(0, frame.size() / 2));
  ArrivingBytes cut(folder / "x.zst");
  EXPECT_EQ(cut.beyond(0).size(), cut.beyond(text.size()).size());
  EXPECT_EQ(cut.fault(), "compressed data is truncated");
}

TEST(ArrivingBytes, AreNoneOfAnEmptyFileAndRefusedOfWhatIsNone) {
  const TemporaryFolder folder;
  write_text(folder / "x", "");
  EXPECT_EQ(arrived(folder / "x"), "");
  EXPECT_THROW(ArrivingBytes(folder / "missing"), std::invalid_argument);
  EXPECT_THROW(ArrivingBytes(folder / "."), std::invalid_argument);
}

TEST(ArrivingBytes, MayBeLeftBeforeTheyAreAllThere) {
  const TemporaryFolder folder;
  write_text(folder / "x", long_text());
  EXPECT_GT(ArrivingBytes(folder / "x").beyond(0).size(), 0U);
}

// Packets and blocks lie across the pieces' ends, and the file ends within one.
TEST(ArrivingBytes, GiveTheTraceThatTheWholeFileGives) {
  const TemporaryFolder folder;
  PerfettoWriter writer(folder / "t.pftrace", WriteAt::create());
  std::mt19937 random(3);
  while (writer.bytes() < 3'000'000) writer.append(testing_support::random_trace(random));
  std::string bytes = read_text(folder / "t.pftrace");
  for (const std::size_t length :
       {bytes.size(), (std::size_t{1} << 20) + 1, std::size_t{1} << 20, std::size_t{77'777}}) {
    bytes.resize(length);
    write_text(folder / "cut.pftrace", bytes);
    const Trace whole = read_perfetto(std::as_bytes(std::span(bytes)), "whole");
    // So many pieces that reading is behind decoding again and again.
    ArrivingBytes file(folder / "cut.pftrace", 1000);
    const Trace arrived = read_perfetto(file, "arriving");
    EXPECT_TRUE(everything(arrived) == everything(whole)) << length;
    EXPECT_EQ(arrived.import.skipped, whole.import.skipped);
    EXPECT_EQ(read_perfetto(folder / "cut.pftrace").import.skipped, whole.import.skipped);
  }
}

}  // namespace
}  // namespace underlap::formats
