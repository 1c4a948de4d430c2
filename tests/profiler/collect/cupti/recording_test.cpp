// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <optional>

#include "profiler/collect/cupti/activity_parser.hpp"
#include "tests/profiler/collect/cupti/recording_file.hpp"
#include "tests/profiler/collect/cupti/synthetic_buffer.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::cupti {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;  // NOLINT
using namespace ::testing;        // NOLINT

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
  const TemporaryFolder folder;
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

// Buffers that a GPU filled: every record must be understood.
TEST(RecordedBuffers, AreReadToTheLastByte) {
  int num_recordings = 0;
  for (const fs::path& path : fs::directory_iterator(UNDERLAP_RECORDINGS_FOLDER)) {
    ++num_recordings;
    const Recording recording = read_recording(path);
    for (const char* key : {"gpu", "cupti", "command", "origin"}) EXPECT_TRUE(recording.about.contains(key)) << path;
    const Activities activities = parse(recording);
    EXPECT_GT(activities.kernels.size(), 0U) << path;
    EXPECT_THAT(activities.skipped, IsEmpty()) << path;
  }
  EXPECT_GT(num_recordings, 0);
}

}  // namespace
}  // namespace underlap::cupti
