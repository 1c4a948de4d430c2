// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/format.hpp"

#include <gmock/gmock.h>

#include "platform/errors.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/slices.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using ::testing::HasSubstr;
using namespace testing_support;  // NOLINT

std::string error_of_file(const std::string& file, const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder / file, text);
  return error_of([&] { read_trace(folder / file); });
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

TEST(Formats, EachFormatThatWritesRecognizesAndReadsWhatItWrote) {
  const TemporaryFolder folder;
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add(slice_of(0, 1000, 2000, "gemm"));
  for (const Format& format : formats()) {
    if (format.write == nullptr) continue;
    const auto path = folder / ("trace" + std::string(format.extension));
    write_trace(path, trace);
    const Trace read = read_trace(path);
    ASSERT_EQ(read.size(), 1U) << format.name;
    EXPECT_EQ(read.duration_ns()[0], 2000) << format.name;
  }
}

TEST(ReadTrace, NamesTheKnownFormatsForAnUnknownOne) {
  EXPECT_THAT(error_of_file("t.pftrace", ""), HasSubstr("empty"));
  for (const char* text : {"hello", "{\"results\": []}", "\n[{\"results\": [", "\n\n\n", "\x28\xB5\x2F\xFD junk"})
    EXPECT_THAT(error_of_file("t.pftrace", text), ::testing::AnyOf(HasSubstr("known: perfetto"), HasSubstr("corrupt")))
        << text;
  const std::string long_text = "\n{\"results\": [" + std::string(300, ' ') + "]}";
  EXPECT_THAT(error_of_file("t.json", long_text), HasSubstr("known: perfetto"));
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
