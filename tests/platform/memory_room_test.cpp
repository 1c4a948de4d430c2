// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_room.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "platform/errors.hpp"
#include "platform/temporary_folder.hpp"

namespace underlap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kMega = 1 << 20;

// A system's files as a test wants them.
class MemoryRoom : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Room room() const { return memory_room({folder_.path() / "proc", folder_.path() / "groups"}); }

 private:
  TemporaryFolder folder_;
};

TEST_F(MemoryRoom, IsWhatIsFree) {
  write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 2048 kB\n");
  EXPECT_EQ(room().amount, 2 * kMega);
  EXPECT_EQ(room().bound, "2.1 MB free");
}

TEST_F(MemoryRoom, IsWhatTheTightestControlGroupAroundTheProcessLeaves) {
  write("proc/meminfo", "MemAvailable: 1048576 kB\n");
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("groups/outer/memory.max", "104857600\n");
  write("groups/outer/memory.current", "94371840\n");
  write("groups/outer/memory.stat", "anon 5\ninactive_file 2097152\n");
  write("groups/outer/inner/memory.max", "max\n");
  write("groups/outer/inner/memory.current", "5\n");
  EXPECT_EQ(room().amount, 12 * kMega) << "what is kept of files that nobody uses can be had";
  EXPECT_EQ(room().bound, "cgroup limit of 104.9 MB");
}

TEST_F(MemoryRoom, ReadsControlGroupsOfTheFirstVersion) {
  write("proc/self/cgroup", "9:cpu:/a\n4:hugetlb,memory:/seen/from/outside\n0::/\n");
  write("groups/memory/memory.limit_in_bytes", "10485760\n");
  write("groups/memory/memory.usage_in_bytes", "9437184\n");
  EXPECT_EQ(room().amount, kMega);
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_GT(room().amount, std::int64_t{1} << 60) << "no limit";
}

TEST_F(MemoryRoom, IsNeverLessThanNothing) {
  write("proc/self/cgroup", "0::/\n");
  write("groups/memory.max", "1048576\n");
  write("groups/memory.current", "2097152\n");
  EXPECT_EQ(room().amount, 0);
}

// A limit of this process, as long as this lives.
class Limited {
 public:
  Limited(__rlimit_resource resource, rlim_t soft) : resource_(resource) {
    ::getrlimit(resource, &before_);
    const rlimit now{std::min(soft, before_.rlim_max), before_.rlim_max};
    ::setrlimit(resource, &now);
  }
  ~Limited() { ::setrlimit(resource_, &before_); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  const rlimit& before() const { return before_; }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

TEST(AddressSpace, BoundsMemoryAndIsNamed) {
  const Limited limited(RLIMIT_AS, rlim_t{1} << 33);
  EXPECT_LT(memory_room().amount, std::int64_t{1} << 33);
  EXPECT_THAT([] { require_memory(std::int64_t{1} << 50, "a large thing"); },
              ThrowsMessage<MachineError>(HasSubstr("a large thing: 1125899.9 GB needed, ")));
  EXPECT_THAT(out_of_memory("it worked"), AllOf(HasSubstr("out of memory while it worked"), HasSubstr("8.6 GB")));
}

TEST(TrialThreads, SayHowManyCouldBeStartedAndWhatBoundsThem) {
  EXPECT_NO_THROW(TrialThreads(20, "a run"));
  const Limited limited(RLIMIT_AS, rlim_t{1} << 30);
  EXPECT_THAT([] { TrialThreads(10'000, "300 ranks"); },
              ThrowsMessage<MachineError>(AllOf(HasSubstr("300 ranks: 10000 threads are needed at once, but "),
                                                HasSubstr("ulimit -v 1.1 GB"))));
}

TEST(OpenFiles, RaiseTheSoftLimitUpToTheHardOne) {
  const Limited limited(RLIMIT_NOFILE, 50);
  const auto hard = static_cast<std::int64_t>(limited.before().rlim_max);
  require_open_files(60, "a run");
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, 60U);
  EXPECT_THAT([&] { require_open_files(hard + 1, "a run"); },
              ThrowsMessage<MachineError>(HasSubstr("files must be open at once, but ulimit -n is 60")));
}

TEST(InBytes, ReadsAsPeopleSayIt) {
  EXPECT_EQ(in_bytes(1000), "1000 bytes");
  EXPECT_EQ(in_bytes(1'500'000), "1.5 MB");
  EXPECT_EQ(in_bytes(1'500'000'000), "1.5 GB");
}

}  // namespace
}  // namespace underlap
