// SPDX-License-Identifier: Apache-2.0
// What processes leave to each other in files: locks, temporary files, temporary folders.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "platform/atomic_file.hpp"
#include "platform/errors.hpp"
#include "platform/file_lock.hpp"
#include "platform/temporary_folder.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Runs `work` in a process that then is killed, with nothing unwound.
pid_t killed_process(const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    work();
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(pid, nullptr, 0);
  return pid;
}

TEST(FileLock, KeepsOthersOutAndSaysWhoHoldsIt) {
  const testing_support::TemporaryFolder folder;
  const FileLock lock(folder / "lock");
  try {
    const FileLock second(folder / "lock");
    FAIL() << "two hold it";
  } catch (const FileIsHeld& held) {
    EXPECT_THAT(held.what(), HasSubstr("process " + std::to_string(::getpid()) + " on "));
  }
}

TEST(FileLock, IsGoneWithItsHolderHoweverThatEnds) {
  const testing_support::TemporaryFolder folder;
  killed_process([&] { new FileLock(folder / "lock"); });
  EXPECT_TRUE(fs::exists(folder / "lock"));
  { const FileLock lock(folder / "lock"); }
  EXPECT_FALSE(fs::exists(folder / "lock"));
}

TEST(FileLock, FollowsNoLink) {
  const testing_support::TemporaryFolder folder;
  testing_support::write_text(folder / "precious", "text");
  fs::create_symlink(folder / "precious", folder / "lock");
  EXPECT_THROW(FileLock(folder / "lock"), MachineError);
  EXPECT_EQ(testing_support::read_text(folder / "precious"), "text");
}

TEST(TemporaryFiles, OfProcessesThatAreNoMoreAreRemoved) {
  const testing_support::TemporaryFolder folder;
  const std::string dead = std::to_string(killed_process([] {}));
  const std::string parent = std::to_string(::getppid()), own = std::to_string(::getpid());
  const std::string end = ".0123456789abcdef.tmp";
  const std::string left = "results.json." + dead + end, alive = "results.json." + parent + end,
                    mine = "results.json." + own + end, other = "notes.tmp";
  for (const std::string& name : {left, alive, mine, other}) testing_support::write_text(folder / name, "x");
  remove_temporary_files(folder / "");
  EXPECT_FALSE(fs::exists(folder / left));
  for (const std::string& name : {alive, mine, other}) EXPECT_TRUE(fs::exists(folder / name)) << name;
  remove_temporary_files(folder / "", true);
  EXPECT_FALSE(fs::exists(folder / mine));
}

// Who may write to the folder must not foretell where the program writes next.
TEST(TemporaryFiles, HaveNamesThatCannotBeForetold) {
  const testing_support::TemporaryFolder folder;
  const TemporaryFile one = create_temporary_file(folder / "file"), other = create_temporary_file(folder / "file");
  EXPECT_NE(one.path, other.path);
  for (const TemporaryFile* file : {&one, &other})
    EXPECT_EQ(file->path.parent_path(), fs::path(folder / "file").parent_path());
  remove_temporary_files(folder / "", true);
  EXPECT_FALSE(fs::exists(one.path));
}

TEST(TemporaryFolders, OfAKilledProcessAreRemovedByTheNextOne) {
  const testing_support::TemporaryFolder folder;
  killed_process([&] {
    const auto* left = new TemporaryFolder;
    testing_support::write_text(left->path() / "file", "x");
    testing_support::write_text(folder / "where", left->path().string());
  });
  const fs::path left = testing_support::read_text(folder / "where");
  ASSERT_TRUE(fs::exists(left));
  const TemporaryFolder other, next;
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other.path())) << "its maker lives";
}

TEST(AtomicFile, SaysTheLimitThatAFileMayNotGrowBeyond) {
  const testing_support::TemporaryFolder folder;
  const std::string file = folder / "file";
  killed_process([&] {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    try {
      write_file_atomically(file, std::string(2000, 'x'));
    } catch (const MachineError& error) {
      testing_support::write_text(folder / "said", error.what());
    }
  });
  EXPECT_THAT(
      testing_support::read_text(folder / "said"),
      ::testing::AllOf(HasSubstr(file), HasSubstr("File too large"), HasSubstr("1000 bytes to a file (ulimit -f)")));
  EXPECT_FALSE(fs::exists(file));
}

}  // namespace
}  // namespace underlap
