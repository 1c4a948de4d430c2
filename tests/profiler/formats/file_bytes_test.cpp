// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/file_bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zstd.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

using ::testing::HasSubstr;
using underlap::testing_support::TemporaryFolder;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// One frame whose blocks have odd sizes, as another writer may make it: they do not fit the reader's buffer evenly.
std::string frame_of_odd_blocks(const std::string& piece, int count) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  std::string frame(ZSTD_compressBound(piece.size()) * static_cast<std::size_t>(count) + 1024, '\0');
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  for (int i = 0; i < count; ++i) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    ZSTD_compressStream2(context.get(), &out, &in, i + 1 < count ? ZSTD_e_flush : ZSTD_e_end);
  }
  frame.resize(out.pos);
  return frame;
}

TEST(FileBytes, ReadsFramesOfAnyBlocksWhole) {
  const TemporaryFolder folder;
  const std::string piece(100'000, 'a');
  for (int count = 1; count <= 5; ++count) {
    underlap::testing_support::write_text(folder / "x.zst", frame_of_odd_blocks(piece, count));
    const FileBytes file = read_bytes(folder / "x.zst");
    EXPECT_EQ(file.bytes.size(), piece.size() * static_cast<std::size_t>(count));
    EXPECT_EQ(file.fault, "");
  }
}

TEST(FileBytes, StopsAtTheLimit) {
  const TemporaryFolder folder;
  underlap::testing_support::write_text(folder / "x", "abcdef");
  underlap::testing_support::write_text(folder / "x.zst", zstd_frame("abcdef"));
  EXPECT_EQ(read_bytes(folder / "x", {.bytes = 4}).bytes, "abcd");
  EXPECT_EQ(read_bytes(folder / "x.zst", {.bytes = 4}).bytes, "abcd");
  EXPECT_EQ(read_bytes(folder / "x.zst", {.bytes = 4}).fault, "");
}

std::string refusal(const std::filesystem::path& path, const ReadLimits& limits = {}) {
  try {
    read_bytes(path, limits);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(FileBytes, RefusesWhatMemoryDoesNotHoldBeforeUnpackingIt) {
  const TemporaryFolder folder;
  const std::string piece(100'000, 'a');
  underlap::testing_support::write_text(folder / "x", piece);
  underlap::testing_support::write_text(folder / "says.zst", zstd_frame(piece));
  underlap::testing_support::write_text(folder / "does_not_say.zst", frame_of_odd_blocks(piece, 3));
  for (const char* file : {"x", "says.zst", "does_not_say.zst"})
    EXPECT_THAT(refusal(folder / file, {.free_memory = 299'999}), HasSubstr("reading it takes three times that"))
        << file;
  for (const char* file : {"x", "says.zst"}) EXPECT_EQ(refusal(folder / file, {.free_memory = 300'000}), "no error");
}

TEST(FileBytes, DoesNotBelieveAHeaderThatSaysMoreThanItsFileCanHold) {
  const TemporaryFolder folder;
  const std::string claims_a_petabyte{"\x28\xB5\x2F\xFD\xE0\0\0\0\0\0\0\x04\0\x01\0\0", 16};
  underlap::testing_support::write_text(folder / "x.zst", claims_a_petabyte);
  EXPECT_EQ(read_bytes(folder / "x.zst").fault, "compressed data is corrupt");
}

TEST(FileBytes, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  EXPECT_THAT(refusal(folder / "pipe"), HasSubstr("a pipe, socket or device, not a file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("a pipe, socket or device, not a file"));
  EXPECT_THAT(refusal(folder / ""), HasSubstr("a directory, not a file"));
  EXPECT_THAT(refusal(folder / "none"), HasSubstr("none: no such file"));
  EXPECT_THAT(refusal(folder / "loop"), HasSubstr("loop: cannot be read: "));
}

TEST(FileBytes, SeesAnyFlippedBitOfAFrame) {
  const TemporaryFolder folder;
  const std::string text = "once upon a time, once upon a time, once upon a clock";
  const std::string frame = zstd_frame(text);
  for (std::size_t bit = 8 * 4; bit < 8 * frame.size(); ++bit) {
    std::string flipped = frame;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    underlap::testing_support::write_text(folder / "x.zst", flipped);
    const FileBytes read = read_bytes(folder / "x.zst");
    EXPECT_TRUE(read.bytes == text || !read.fault.empty()) << "bit " << bit;
  }
}

}  // namespace
}  // namespace underlap::formats
