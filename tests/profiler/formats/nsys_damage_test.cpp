// SPDX-License-Identifier: Apache-2.0
// Files that are no export of Nsight Systems, or a damaged one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "profiler/formats/format.hpp"
#include "profiler/formats/output_file.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/nsys_file.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using ::testing::HasSubstr;
using namespace testing_support;  // NOLINT

std::string nsys_refusal(const std::filesystem::path& path) {
  return error_of([&] { read_trace(path); });
}

void write_small_nsys_file(const std::filesystem::path& path) {
  NsysFile file(path);
  for (std::int64_t i = 0; i < 60; ++i) {
    file.kernel({.start = 100 * i, .end = 100 * i + 90, .correlation = i + 1, .name = "kernel " + std::to_string(i)});
    file.call({.start = 100 * i - 50, .end = 100 * i - 40, .correlation = i + 1});
    file.range({.start = 100 * i - 60, .end = 100 * i - 30, .text = "range " + std::to_string(i)});
  }
}

TEST(NsysDamage, RefusesSomethingElseAnExportWithoutAnyEventAndACompressedDatabase) {
  const TemporaryFolder folder;
  { NsysFile(folder / "else").run("DROP TABLE StringIds; CREATE TABLE bookmarks (url TEXT)"); }
  EXPECT_THAT(nsys_refusal(folder / "else"),
              HasSubstr("without Nsight Systems tables; give the output of `nsys export"));
  { const NsysFile file(folder / "empty"); }
  EXPECT_THAT(nsys_refusal(folder / "empty"), HasSubstr("record with `nsys profile --trace=cuda,nvtx`"));
  write_small_nsys_file(folder / "t.sqlite");
  write_text(folder / "t.zst", zstd_frame(read_text(folder / "t.sqlite")));
  EXPECT_THAT(nsys_refusal(folder / "t.zst"), HasSubstr("a compressed SQLite database; decompress it"));
}

TEST(NsysDamage, CountsWorkWithoutTimes) {
  const TemporaryFolder folder;
  {
    NsysFile file(folder / "t.sqlite");
    file.kernel({.start = 0, .end = 0, .correlation = 1});
    file.copy({.start = 0, .end = 0, .correlation = 2});
    file.kernel({.start = 0, .end = 5, .correlation = 3});
    file.kernel({.start = 9, .end = 7, .correlation = 4});
  }
  const Trace trace = read_trace(folder / "t.sqlite");
  EXPECT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace.import.skipped,
            (std::map<std::string, std::int64_t>{
                {"kernel with times of 0", 1}, {"copy with times of 0", 1}, {"kernel that ends before it starts", 1}}));
}

// SQLite says of such a record that memory ran out, which it has not.
TEST(NsysDamage, CountsOrRefusesARecordThatClaimsToBeLongerThanAnyCanBe) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  const std::string whole = read_text(folder / "t.sqlite");
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
    write_text(folder / "t.sqlite", damaged);
    refused_for_it += nsys_refusal(folder / "t.sqlite").find("a record has an impossible length") != std::string::npos;
  }
  EXPECT_GE(refused_for_it, 1U);
}

TEST(NsysDamage, ReadsNoViewInPlaceOfATable) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 1, .end = 2});
    file.run(
        "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) "
        "SELECT start, start AS end, 59 AS eventType, 'x' AS text FROM n");
  });
  EXPECT_EQ(trace.size(), 1U);
}

TEST(NsysDamage, WritesNothingBesideTheFileAndSaysWhatIsNotRead) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  write_text(folder / "t.sqlite-wal", "changes");
  ::chmod((folder / "").c_str(), 0500);
  const Trace trace = read_trace(folder / "t.sqlite");
  ::chmod((folder / "").c_str(), 0700);
  EXPECT_EQ(trace.import.skipped.at("log next to the file (-wal): its contents are not read"), 1);
  namespace fs = std::filesystem;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / ""), fs::directory_iterator()), 2);
  EXPECT_EQ(read_text(folder / "t.sqlite-wal"), "changes");
}

TEST(NsysDamage, OpensAFileWhoseNameWouldMeanSomethingInAUri) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "50% ?mode=rwc#t.sqlite");
  EXPECT_EQ(read_trace(folder / "50% ?mode=rwc#t.sqlite").size(), 180U);
}

TEST(NsysDamage, KeepsWhatIsBeforeTheCutOfATruncatedFile) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  const std::string whole = read_text(folder / "t.sqlite");
  bool any_part = false;
  for (std::size_t cut = 100; cut < whole.size(); cut += 512) {
    write_text(folder / "cut.sqlite", whole.substr(0, cut));
    const std::string refusal = error_of([&] {
      const Trace trace = read_trace(folder / "cut.sqlite");
      EXPECT_EQ(trace.import.skipped.count(fmt::format("truncated file: {} bytes are missing", whole.size() - cut)),
                1U);
      any_part |= trace.size() > 0;
    });
    EXPECT_THAT(refusal, ::testing::AnyOf("", HasSubstr("schema"), HasSubstr("Nsight Systems tables"),
                                          HasSubstr("without kernels")));
  }
  EXPECT_TRUE(any_part);
}

TEST(NsysDamage, ReadsOrRefusesAnyFlippedBytes) {
  const TemporaryFolder folder;
  write_small_nsys_file(folder / "t.sqlite");
  const std::string whole = read_text(folder / "t.sqlite");
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (int flips = 0; flips < 1 + i % 5; ++flips)
      bytes[100 + random() % (bytes.size() - 100)] = static_cast<char>(random());
    write_text(folder / "flipped.sqlite", bytes);
    error_of([&] {  // or refused
      const Trace trace = read_trace(folder / "flipped.sqlite");
      EXPECT_LE(trace.size(), whole.size() / 4);
      EXPECT_TRUE(is_sound(trace)) << i;
    });
  }
}

}  // namespace
}  // namespace underlap::formats
