// SPDX-License-Identifier: Apache-2.0
#include "platform/shared_library.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "platform/errors.hpp"

namespace underlap {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A folder that is gone at the end, with an environment variable that points to it.
class LibraryPath : public ::testing::Test {
 protected:
  LibraryPath() {
    std::string pattern = (fs::temp_directory_path() / "underlap-library.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    setenv("UNDERLAP_LIBRARY_PATH", ("/nowhere:" + folder_.string()).c_str(), 1);
  }
  ~LibraryPath() override {
    unsetenv("UNDERLAP_LIBRARY_PATH");
    fs::remove_all(folder_);
  }

  fs::path folder_;
};

TEST_F(LibraryPath, TakesACopyThatIsLoadedAlready) {
  std::ofstream(folder_ / "libc.so.6") << "not a library";
  const SharedLibrary library = SharedLibrary::open({"libc.so.6"});
  EXPECT_NE(library.path().parent_path(), folder_);
  std::size_t (*length)(const char*) = nullptr;
  library.require("strlen", length);
  EXPECT_EQ(length("four"), 4U);
}

TEST_F(LibraryPath, ListsTheVariablesFoldersFirst) {
  const std::vector<fs::path> folders = library_folders();
  ASSERT_GE(folders.size(), 3U);
  EXPECT_EQ(folders[0], "/nowhere");
  EXPECT_EQ(folders[1], folder_);
}

TEST_F(LibraryPath, ListsTheLibrariesOfAPythonInstallation) {
  fs::create_directories(folder_ / "lib" / "python3.12" / "site-packages" / "nvidia" / "nccl" / "lib");
  setenv("VIRTUAL_ENV", folder_.c_str(), 1);
  const std::vector<fs::path> folders = library_folders();
  unsetenv("VIRTUAL_ENV");
  EXPECT_NE(std::ranges::find(folders, folder_ / "lib/python3.12/site-packages/nvidia/nccl/lib"), folders.end());
}

std::string refusal(const std::vector<std::string>& names) {
  try {
    SharedLibrary::open(names);
  } catch (const MachineError& error) {
    return error.what();
  }
  return "";
}

TEST_F(LibraryPath, NamesWhatIsMissingAndWhereItLooked) {
  EXPECT_THAT(refusal({"libnever.so.2", "libnever.so"}),
              AllOf(HasSubstr("libnever.so.2 or libnever.so was not found"), HasSubstr(folder_.string())));
}

TEST_F(LibraryPath, SaysWhyAFileWasRefused) {
  std::ofstream(folder_ / "libbroken.so") << "not a library";
  EXPECT_THAT(refusal({"libbroken.so"}), HasSubstr((folder_ / "libbroken.so").string() + ":"));
}

// A toolkit of CUDA 12 in the system, and CUDA 13 beside PyTorch.
TEST_F(LibraryPath, TheNewestWinsUnlessAFolderIsNamed) {
  const fs::path real = SharedLibrary::open({"libm.so.6"}).path();
  const fs::path toolkit = folder_ / "toolkit" / "lib64";
  const fs::path wheel = folder_ / "python" / "lib" / "python3.12" / "site-packages" / "nvidia" / "cu13" / "lib";
  for (const fs::path& folder : {toolkit, wheel}) fs::create_directories(folder);
  fs::copy_file(real, toolkit / "libexample.so.12");
  fs::copy_file(real, wheel / "libexample.so.13");
  setenv("CUDA_HOME", (folder_ / "toolkit").c_str(), 1);
  setenv("VIRTUAL_ENV", (folder_ / "python").c_str(), 1);
  EXPECT_EQ(SharedLibrary::open({"libexample.so.13", "libexample.so.12"}).path(), wheel / "libexample.so.13");
  setenv("UNDERLAP_LIBRARY_PATH", toolkit.c_str(), 1);
  EXPECT_EQ(SharedLibrary::open({"libexample.so.13", "libexample.so.12"}).path(), toolkit / "libexample.so.12");
  unsetenv("VIRTUAL_ENV");
  unsetenv("CUDA_HOME");
}

TEST_F(LibraryPath, NamesASymbolThatIsMissing) {
  const SharedLibrary library = SharedLibrary::open({"libc.so.6"});
  void (*function)() = nullptr;
  EXPECT_THROW(library.require("no_such_function", function), MachineError);
  library.find("no_such_function", function);
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace underlap
