// SPDX-License-Identifier: Apache-2.0
#include "platform/input_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <stdexcept>

#include "platform/temporary_folder.hpp"

namespace underlap {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void refuses(const std::filesystem::path& file, const std::string& why) {
  EXPECT_THAT([&] { read_input_file(file, 100); },
              ThrowsMessage<std::invalid_argument>(HasSubstr(file.string() + ": " + why)));
}

TEST(InputFile, IsReadToItsEndOrToTheMost) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "text") << "0123456789";
  EXPECT_EQ(read_input_file(folder.path() / "text", 100), "0123456789");
  EXPECT_EQ(read_input_file(folder.path() / "text", 4), "0123");
}

TEST(InputFile, ThatHasNoEndOrMayNeverBeginIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  refuses(folder.path() / "pipe", "a named pipe, not a file");
  refuses(folder.path(), "a directory, not a file");
  refuses("/dev/zero", "a device, not a file");
  refuses(folder.path() / "none", "no such file");
  refuses(folder.path() / "none" / "none", "no such file");
}

TEST(InputFile, ThatIsMissingIsLookedForBesideItsName) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "quick.yaml") << "a";
  refuses(folder.path() / "quik.yaml", "no such file; did you mean " + (folder.path() / "quick.yaml").string() + "?");
}

TEST(InputFile, MayBeAPipeThatThisProcessWasGiven) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "piped", 5), 5);
  ::close(ends[1]);
  EXPECT_EQ(read_input_file("/dev/fd/" + std::to_string(ends[0]), 100), "piped");
  ::close(ends[0]);
}

}  // namespace
}  // namespace underlap
