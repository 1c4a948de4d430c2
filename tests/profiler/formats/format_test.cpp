// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "platform/errors.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using ::testing::HasSubstr;
using underlap::testing_support::TemporaryFolder;

std::string error_of(const std::string& file, const std::string& text) {
  const TemporaryFolder folder;
  underlap::testing_support::write_text(folder / file, text);
  try {
    read_trace(folder / file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(Formats, EachFormatFileIsRegistered) {
  const std::string suffix = "_format.cpp";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(UNDERLAP_FORMATS_FOLDER)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(suffix)) files.push_back(file.substr(0, file.size() - suffix.size()));
  }
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(files));
  EXPECT_FALSE(names.empty());
}

TEST(Formats, EachFormatThatWritesRecognisesAndReadsWhatItWrote) {
  const TemporaryFolder folder;
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add({.track = 0, .start_ns = 1000, .duration_ns = 2000, .name = intern("gemm"), .tag = {}});
  for (const Format& format : formats()) {
    if (format.write == nullptr) continue;
    const auto path = folder / ("trace" + std::string(format.extension));
    write_trace(path, trace);
    const Trace read = read_trace(path);
    ASSERT_EQ(read.size(), 1U) << format.name;
    EXPECT_EQ(read.duration_ns()[0], 2000) << format.name;
  }
}

TEST(ReadTrace, SaysThatAFileIsEmpty) { EXPECT_THAT(error_of("t.pftrace", ""), HasSubstr("empty")); }

TEST(ReadTrace, NamesTheKnownFormatsForAnUnknownOne) {
  for (const char* text : {"hello", "{\"results\": []}", "\n[{\"results\": [", "\n\n\n", "\x28\xB5\x2F\xFD junk"})
    EXPECT_THAT(error_of("t.pftrace", text), ::testing::AnyOf(HasSubstr("known are perfetto"), HasSubstr("corrupt")))
        << text;
  const std::string long_text = "\n{\"results\": [" + std::string(300, ' ') + "]}";
  EXPECT_THAT(error_of("t.json", long_text), HasSubstr("known are perfetto"));
}

TEST(ReadTrace, SaysWhyAFileCannotBeRead) {
  EXPECT_THROW(read_trace("/no/such/file.pftrace"), std::invalid_argument);
  EXPECT_THROW(read_trace(std::filesystem::temp_directory_path()), std::invalid_argument);
}

TEST(WriteTrace, NamesTheKnownExtensionsForAnUnknownOne) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_trace(folder / "t.txt", {}), std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(folder / "t.txt"));
}

}  // namespace
}  // namespace underlap::formats
