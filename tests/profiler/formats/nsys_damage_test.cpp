// SPDX-License-Identifier: Apache-2.0
// Files that are no export of Nsight Systems, or a damaged one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "profiler/formats/format.hpp"
#include "profiler/formats/output_file.hpp"
#include "tests/profiler/formats/nsys_file.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using ::testing::HasSubstr;
using testing_support::NsysFile;
using testing_support::TemporaryFolder;

std::string nsys_refusal(const std::filesystem::path& path) {
  try {
    read_trace(path);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "read";
}

void write_small_nsys_file(const std::filesystem::path& path) {
  NsysFile file(path);
  for (std::int64_t i = 0; i < 60; ++i) {
    file.kernel({.start = 100 * i, .end = 100 * i + 90, .correlation = i + 1, .name = "kernel " + std::to_string(i)});
    file.call({.start = 100 * i - 50, .end = 100 * i - 40, .correlation = i + 1});
    file.range({.start = 100 * i - 60, .end = 100 * i - 30, .text = "range " + std::to_string(i)});
  }
}

TEST(NsysDamage, RefusesAnSqliteFileOfSomethingElse) {
  const TemporaryFolder folder;
  { NsysFile(folder / "t.sqlite").run("DROP TABLE StringIds; CREATE TABLE bookmarks (url TEXT)"); }
  EXPECT_THAT(nsys_refusal(folder / "t.sqlite"), HasSubstr("without tables of Nsight Systems; give what `nsys export"));
}

TEST(NsysDamage, RefusesAnExportWithoutAnyEvent) {
  const TemporaryFolder folder;
  { const NsysFile file(folder / "t.sqlite"); }
  EXPECT_THAT(nsys_refusal(folder / "t.sqlite"), HasSubstr("record with `nsys profile --trace=cuda,nvtx`"));
}

TEST(NsysDamage, RefusesACompressedDatabase) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  testing_support::write_text(folder / "t.zst", zstd_frame(testing_support::read_text(folder / "t.sqlite")));
  EXPECT_THAT(nsys_refusal(folder / "t.zst"), HasSubstr("compressed; give it unpacked"));
}

// SQLite says of such a record that memory ran out, which it has not.
TEST(NsysDamage, CountsOrRefusesARecordThatClaimsToBeLongerThanAnyCanBe) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  const std::string whole = testing_support::read_text(folder / "t.sqlite");
  const auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(whole[at]) << 8 |
                                    static_cast<unsigned char>(whole[at + 1]));
  };
  const std::size_t page_bytes = number(16) == 1 ? 65536 : number(16);
  std::size_t refused_for_it = 0;
  for (std::size_t page = 0; page < whole.size(); page += page_bytes) {
    const std::size_t header = page == 0 ? 100 : page;
    if (whole[header] != 13 || number(header + 3) == 0) continue;  // a leaf of a table, with a cell at least
    std::string damaged = whole;
    damaged.replace(page + number(header + 8), 8, "\xFF\xFF\xFF\xFF\xFF\xFF\x53\x00", 8);
    testing_support::write_text(folder / "t.sqlite", damaged);
    refused_for_it +=
        nsys_refusal(folder / "t.sqlite").find("a record claims to be longer than any") != std::string::npos;
  }
  EXPECT_GE(refused_for_it, 1U);
}

TEST(NsysDamage, ReadsNoViewInPlaceOfATable) {
  const TemporaryFolder folder;
  {
    NsysFile file(folder / "t.sqlite");
    file.kernel({.start = 1, .end = 2});
    file.run(
        "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) "
        "SELECT start, start AS end, 59 AS eventType, 'x' AS text FROM n");
  }
  EXPECT_EQ(read_trace(folder / "t.sqlite").size(), 1U);
}

TEST(NsysDamage, WritesNothingBesideTheFileAndSaysWhatIsNotRead) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  testing_support::write_text(folder / "t.sqlite-wal", "changes");
  ::chmod((folder / "").c_str(), 0500);
  const Trace trace = read_trace(folder / "t.sqlite");
  ::chmod((folder / "").c_str(), 0700);
  EXPECT_EQ(trace.import.skipped.at("log beside the file (-wal): what it holds is not read"), 1);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder / "")) ++files;
  EXPECT_EQ(files, 2U);
  EXPECT_EQ(testing_support::read_text(folder / "t.sqlite-wal"), "changes");
}

TEST(NsysDamage, OpensAFileWhoseNameWouldMeanSomethingInAUri) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "50% ?mode=rwc#t.sqlite");
  EXPECT_EQ(read_trace(folder / "50% ?mode=rwc#t.sqlite").size(), 180U);
}

TEST(NsysDamage, KeepsWhatIsBeforeTheCutOfATruncatedFile) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  const std::string whole = testing_support::read_text(folder / "t.sqlite");
  bool any_part = false;
  for (std::size_t cut = 100; cut < whole.size(); cut += 512) {
    testing_support::write_text(folder / "cut.sqlite", whole.substr(0, cut));
    try {
      const Trace trace = read_trace(folder / "cut.sqlite");
      EXPECT_EQ(trace.import.skipped.count(fmt::format("file cut short: {} bytes are missing", whole.size() - cut)),
                1U);
      any_part |= trace.size() > 0;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(),
                  ::testing::AnyOf(HasSubstr("schema"), HasSubstr("tables of Nsight"), HasSubstr("without any")));
    }
  }
  EXPECT_TRUE(any_part);
}

TEST(NsysDamage, ReadsOrRefusesAnyFlippedBytes) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  const std::string whole = testing_support::read_text(folder / "t.sqlite");
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (int flips = 0; flips < 1 + i % 5; ++flips)
      bytes[100 + random() % (bytes.size() - 100)] = static_cast<char>(random());
    testing_support::write_text(folder / "flipped.sqlite", bytes);
    try {
      const Trace trace = read_trace(folder / "flipped.sqlite");
      EXPECT_LE(trace.size(), whole.size() / 4);
      for (std::size_t slice = 0; slice < trace.size(); ++slice) ASSERT_GE(trace.duration_ns()[slice], 0);
    } catch (const std::invalid_argument&) {
    }
  }
}

}  // namespace
}  // namespace underlap::formats
