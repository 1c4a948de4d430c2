// SPDX-License-Identifier: Apache-2.0
// What a watch hears of files of every format, long enough to be read in several pieces.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <thread>
#include <utility>

#include "profiler/formats/format.hpp"
#include "profiler/formats/output_file.hpp"
#include "profiler/formats/perfetto/writer.hpp"
#include "tests/profiler/formats/made_up_steps.hpp"
#include "tests/profiler/formats/nsys_file.hpp"
#include "tests/profiler/formats/pftrace_file.hpp"
#include "tests/profiler/random_trace.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/profiler/watch.hpp"

namespace underlap::formats {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;  // NOLINT

void write_native(const fs::path& path) {
  PerfettoWriter writer(path);
  std::mt19937 random(3);
  while (writer.bytes() < 4'000'000) writer.append(testing_support::random_trace(random));
}

void write_native_zst(const fs::path& path) {
  const fs::path plain = path.parent_path() / "plain.pftrace";
  write_native(plain);
  const std::string bytes = read_text(plain);
  const std::string half = bytes.substr(0, bytes.size() / 2);
  write_text(path, zstd_frame(half) + zstd_frame(bytes.substr(half.size())));
}

// Numbers of no pattern, so that what compresses it leaves several pieces.
std::string kineto_text() {
  std::mt19937_64 random(5);
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  for (std::int64_t i = 0; i < 30'000; ++i)
    text += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm {}\", \"pid\": 0, \"tid\": 7, \"ts\": {}, \"dur\": "
        "{}, \"args\": {{\"device\": 0, \"stream\": 7, \"correlation\": {}, \"hash\": \"{:016x}{:016x}\"}}}}",
        i == 0 ? "" : ",\n", i % 50, 1000 + 20 * i, 1 + random() % 19, i + 1, random(), random());
  return text + "]}";
}

void write_kineto_plain(const fs::path& path) { write_text(path, kineto_text()); }

void write_kineto_gz(const fs::path& path) {
  OutputFile file(path);
  file.write(kineto_text());
  file.close();
}

void write_kineto_of_ours(const fs::path& path) {
  std::mt19937 random(7);
  Trace trace;
  for (int i = 0; i < 150; ++i)
    trace.append(testing_support::random_trace(random, {.num_ranks = 1, .num_slices = 100, .is_foreign = true}));
  write_trace(path, trace);
}

void write_nsys(const fs::path& path) {
  NsysFile file(path, NsysFile::Schema::v3_25, 4096);
  file.run("BEGIN");
  for (std::int64_t i = 0; i < 4000; ++i) {
    file.kernel({.start = 100 * i, .end = 100 * i + 60, .correlation = i + 1});
    file.call({.start = 100 * i - 50, .end = 100 * i - 10, .correlation = i + 1});
    file.range({.start = 100 * i - 60, .end = 100 * i, .text = "aten::mm"});
  }
  file.run("COMMIT");
}

void write_pftrace(const fs::path& path) {
  PftraceFile file;
  file.track(1, 0, "stream 7");
  for (std::int64_t i = 0; i < 30'000; ++i)
    file.slice({1, 100 * i, 100 * i + 60, "gemm", "kernel", {{"correlation", i + 1}}});
  write_text(path, file.bytes);
}

void write_rocprof(const fs::path& path) {
  std::vector<std::string> processes;
  for (int pid = 1; pid <= 500; ++pid) processes.push_back(rocprof_process(pid));
  write_text(path, rocprof_file(processes));
}

void write_jax(const fs::path& path) { write_text(path, jax_file(500)); }

struct File {
  const char* name;
  void (*write)(const fs::path&);
};
void PrintTo(const File& file, std::ostream* out) { *out << file.name; }

Trace read(const fs::path& path, Watch& watch) {
  Reading reading(watch);
  return read_trace(path, reading);
}

std::ptrdiff_t num_threads() {
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

// The system may list a thread for a moment after it was joined.
bool comes_down_to(std::ptrdiff_t threads) {
  for (int i = 0; i < 2000 && num_threads() > threads; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return num_threads() == threads;
}

class WatchedReading : public ::testing::TestWithParam<File> {
 protected:
  WatchedReading() : path_(folder_ / GetParam().name) { GetParam().write(path_); }

  const TemporaryFolder folder_;
  fs::path path_;
};

TEST_P(WatchedReading, GivesTheTraceThatUnwatchedReadingGives) {
  Watch watch;
  EXPECT_TRUE(everything(read(path_, watch)) == everything(read_trace(path_)));
}

TEST_P(WatchedReading, TellsProgressThatEndsAtOneAndNeverGoesBack) {
  Watch watch;
  read(path_, watch);
  // How often depends on how far a thread that unpacks has come whenever the one that reads looks.
  ASSERT_GE(watch.fractions.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(watch.fractions));
  EXPECT_GT(watch.fractions.front(), 0);
  EXPECT_LT(watch.fractions.front(), 1);
  EXPECT_EQ(watch.fractions.back(), 1);
}

TEST_P(WatchedReading, EndsAtThePollThatCancelsItAndLeavesNoThread) {
  Watch whole;
  read(path_, whole);
  const std::ptrdiff_t before = num_threads();  // a sanitizer has one of its own, from the first thread on
  ASSERT_GE(whole.polls, 6U);
  for (std::size_t at = 1; at <= whole.polls; at += 1 + whole.polls / 8) {
    Watch watch(at);
    EXPECT_THROW(read(path_, watch), Cancelled);
    EXPECT_EQ(watch.polls, at);
    EXPECT_TRUE(comes_down_to(before));
  }
}

TEST_P(WatchedReading, GivesPartsThatGrowToTheWhole) {
  const Trace whole = read_trace(path_);
  std::int64_t moved_ns = 0;  // all times are, at the end
  bool is_first = true;
  constexpr std::size_t kLookedAt = 7;  // of so many slices one
  Watch watch;
  watch.look = [&](const Trace& part) {
    ASSERT_LE(part.size(), whole.size());
    for (std::size_t i = 0; i < part.size(); i += kLookedAt) {
      if (std::exchange(is_first, false)) moved_ns = whole.start_ns()[i] - part.start_ns()[i];
      ASSERT_EQ(part.start_ns()[i] + moved_ns, whole.start_ns()[i]);
      ASSERT_EQ(part.duration_ns()[i], whole.duration_ns()[i]);
      ASSERT_EQ(part.name(i), whole.name(i));
      ASSERT_EQ(part.track(i), whole.track(i));
      ASSERT_EQ(part.track_of(i).kind, whole.track_of(i).kind);
    }
  };
  read(path_, watch);
  ASSERT_GE(watch.sizes.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(watch.sizes));
  EXPECT_LT(watch.sizes.front(), whole.size());
  EXPECT_EQ(watch.sizes.back(), whole.size());
}

constexpr std::array kFiles{
    File{"t.pftrace", write_native},        File{"t.pftrace.zst", write_native_zst}, File{"t.json", write_kineto_plain},
    File{"t.json.gz", write_kineto_gz},     File{"ours.json", write_kineto_of_ours}, File{"t.sqlite", write_nsys},
    File{"foreign.pftrace", write_pftrace}, File{"rocprof.json", write_rocprof},     File{"jax.json", write_jax}};

INSTANTIATE_TEST_SUITE_P(, WatchedReading, ::testing::ValuesIn(kFiles), [](const auto& tested) {
  std::string name = tested.param.name;
  std::ranges::replace(name, '.', '_');
  return name;
});

TEST(WatchedReadings, AreOfEveryFormat) {
  for (const Format& format : formats())
    EXPECT_TRUE(std::ranges::any_of(kFiles, [&](const File& file) {
      return fs::path(file.name).extension() == format.extension;
    })) << format.name;
}

TEST(WatchedReadings, EndBeforeTheFirstByteWhereTheyAreCancelledBefore) {
  const TemporaryFolder folder;
  Watch watch(1);
  EXPECT_THROW(read(folder / "missing", watch), Cancelled);
}

}  // namespace
}  // namespace underlap::formats
