// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/recording.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/activity_parser.hpp"
#include "tests/profiler/collect/cupti/synthetic_buffer.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::cupti {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Recording synthetic_recording() {
  const auto kernels = SyntheticBuffer().add(synthetic_kernel(1)).add(synthetic_kernel(2));
  const auto copies = SyntheticBuffer().add(synthetic_copy());
  return {
      .cupti_version = 130001,
      .about = {{"origin", "synthetic"}, {"gpu", "none"}, {"command", "recording_test: made up"}},
      .names = {{reinterpret_cast<std::uintptr_t>(kSyntheticKernelName), "synthetic\n gemm"}},
      .buffers = {{kernels.bytes().begin(), kernels.bytes().end()}, {copies.bytes().begin(), copies.bytes().end()}}};
}

Activities parse(const Recording& recording) {
  const ActivityParser parser(recording.cupti_version, [&](std::uint64_t address) -> std::optional<NameId> {
    const auto found = recording.names.find(address);
    if (found == recording.names.end()) return std::nullopt;
    return intern(found->second);
  });
  Activities activities;
  for (const auto& buffer : recording.buffers) parser.parse(buffer, activities);
  return activities;
}

TEST(Recording, ComesBackAsItWasWritten) {
  const underlap::testing_support::TemporaryFolder folder;
  const fs::path path = folder / "synthetic.cupti";
  const Recording written = synthetic_recording();
  write_recording(path, written);
  const Recording read = read_recording(path);
  EXPECT_EQ(read.cupti_version, written.cupti_version);
  EXPECT_EQ(read.about, written.about);
  EXPECT_EQ(read.names, written.names);
  EXPECT_EQ(read.buffers, written.buffers);
  const Activities activities = parse(read);
  ASSERT_EQ(activities.kernels.size(), 2U);
  EXPECT_EQ(name_of(activities.kernels[1].name), "synthetic\n gemm");
  EXPECT_EQ(activities.copies.size(), 1U);
}

TEST(Recording, RefusesAFileThatIsCutShortWhereverTheCutIs) {
  const underlap::testing_support::TemporaryFolder folder;
  const fs::path path = folder / "synthetic.cupti";
  write_recording(path, synthetic_recording());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t length = 0; length < bytes.size(); length += 7) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, length);
    EXPECT_THROW(read_recording(path), MachineError) << length;
  }
}

TEST(Recording, RefusesWhatIsNoRecording) {
  const underlap::testing_support::TemporaryFolder folder;
  const fs::path path = folder / "trace.json";
  std::ofstream(path) << "{\"traceEvents\": []}\n";
  try {
    read_recording(path);
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is no recording"));
  }
  EXPECT_THROW(read_recording(folder / "absent"), MachineError);
}

TEST(Recording, RefusesAHeaderThatWouldNotComeBack) {
  const underlap::testing_support::TemporaryFolder folder;
  Recording recording;
  recording.about = {{"command", "two\nlines"}};
  EXPECT_THROW(write_recording(folder / "a", recording), std::invalid_argument);
  recording.about = {{"key: with a colon", "value"}};
  EXPECT_THROW(write_recording(folder / "a", recording), std::invalid_argument);
}

// Buffers that a GPU filled: every record must be understood.
TEST(RecordedBuffers, AreReadToTheLastByte) {
  std::vector<fs::path> recordings;
  if (fs::exists(UNDERLAP_RECORDINGS_FOLDER))
    for (const auto& entry : fs::recursive_directory_iterator(UNDERLAP_RECORDINGS_FOLDER))
      if (entry.path().extension() == ".cupti") recordings.push_back(entry.path());
  if (recordings.empty()) GTEST_SKIP() << "nothing was recorded on a GPU yet: tests/data/cupti holds no *.cupti";
  for (const fs::path& path : recordings) {
    const Recording recording = read_recording(path);
    for (const char* key : {"gpu", "cupti", "command", "origin"}) EXPECT_TRUE(recording.about.contains(key)) << path;
    const Activities activities = parse(recording);
    EXPECT_GT(activities.kernels.size(), 0U) << path;
    EXPECT_THAT(activities.skipped, IsEmpty()) << path;
  }
}

}  // namespace
}  // namespace underlap::cupti
