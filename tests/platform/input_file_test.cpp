// SPDX-License-Identifier: Apache-2.0
#include "platform/input/input_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/profiler/temporary_folder.hpp"

namespace underlap {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using testing_support::TemporaryFolder;
using testing_support::write_text;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// One frame whose blocks have odd sizes, as another writer may make it: they do not fit the reader's buffer evenly.
// The header of a frame of one block states the length.
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

void write_gzip(const std::filesystem::path& path, const std::string& text) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(path.c_str(), "wb"), ::gzclose);
  ASSERT_EQ(::gzwrite(file.get(), text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
}

void refuses(const std::filesystem::path& file, const std::string& why, const ReadLimits& limits = {}) {
  EXPECT_THAT([&] { read_input_file(file, limits); },
              ThrowsMessage<std::invalid_argument>(HasSubstr(file.string() + ": " + why)));
}

TEST(InputFile, IsReadToItsEndOrToTheMost) {
  const TemporaryFolder folder;
  write_text(folder / "x", "0123456789");
  write_text(folder / "x.zst", frame_of_odd_blocks("0123456789", 1));
  write_gzip(folder / "x.gz", "0123456789");
  for (const char* file : {"x", "x.zst", "x.gz"}) {
    EXPECT_EQ(read_input_file(folder / file), "0123456789") << file;
    EXPECT_EQ(read_input_file(folder / file, {.bytes = 4}), "0123") << file;
  }
}

TEST(InputFile, HasFramesOfAnyBlocks) {
  const TemporaryFolder folder;
  const std::string piece(100'000, 'a');
  for (std::size_t count = 1; count <= 5; ++count) {
    write_text(folder / "x.zst", frame_of_odd_blocks(piece, static_cast<int>(count)));
    EXPECT_EQ(read_input_file(folder / "x.zst").size(), piece.size() * count);
  }
}

TEST(InputFile, ThatIsDamagedIsRefusedAndItsStreamKeepsWhatCameBefore) {
  const TemporaryFolder folder;
  const std::string text = "once upon a time, once upon a time, once upon a clock";
  const std::string frame = frame_of_odd_blocks(text, 3);
  write_text(folder / "x.zst", frame.substr(0, frame.size() - 1));
  refuses(folder / "x.zst", "compressed data is truncated");
  ByteStream stream(folder / "x.zst");
  const FileBytes read = read_bytes(stream);
  EXPECT_THAT(read.bytes, testing::StartsWith(text + text));
  EXPECT_EQ(read.fault, "compressed data is truncated");
}

TEST(InputFile, ThatMemoryDoesNotHoldIsRefusedBeforeItIsUnpacked) {
  const TemporaryFolder folder;
  const std::string piece(100'000, 'a');
  write_text(folder / "x", piece);
  write_text(folder / "states.zst", frame_of_odd_blocks(piece, 1));
  write_text(folder / "does_not_state.zst", frame_of_odd_blocks(piece, 3));
  for (const char* file : {"x", "states.zst", "does_not_state.zst"})
    EXPECT_THAT([&] { read_input_file(folder / file, {.free_memory = 299'999}); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("reading it takes 3 times that")));
  for (const char* file : {"x", "states.zst"}) {
    EXPECT_NO_THROW(read_input_file(folder / file, {.free_memory = 300'000}));
    refuses(folder / file, "has 0.1 MB or more unpacked", {.free_memory = 300'000, .memory_factor = 4});
  }
}

TEST(InputFile, WhoseHeaderStatesMoreThanItCanHoldIsNotBelieved) {
  const TemporaryFolder folder;
  const std::string claims_a_petabyte{"\x28\xB5\x2F\xFD\xE0\0\0\0\0\0\0\x04\0\x01\0\0", 16};
  write_text(folder / "x.zst", claims_a_petabyte);
  refuses(folder / "x.zst", "compressed data is corrupt");
}

TEST(InputFile, ThatHasNoEndOrMayNeverBeginIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  refuses(folder / "pipe", "a named pipe, not a file");
  refuses(folder / "", "a folder, not a file");
  refuses("/dev/zero", "a device, not a file");
  refuses(folder / "none", "no such file");
  refuses(folder / "none/none", "no such file");
  refuses(folder / "loop", "cannot be opened for reading: Too many levels");
  refuses("/proc/self/mem", "cannot be read: ");
}

TEST(InputFile, ThatIsMissingIsLookedForBesideItsName) {
  const TemporaryFolder folder;
  write_text(folder / "quick.yaml", "a");
  refuses(folder / "quik.yaml", "no such file; did you mean " + (folder / "quick.yaml").string() + "?");
  std::filesystem::create_symlink("nowhere", folder / "link");
  refuses(folder / "link", "no such file; check the path");
}

TEST(InputFile, MayBeAPipeThatThisProcessWasGiven) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "piped", 5), 5);
  ::close(ends[1]);
  const std::string name = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_THAT([&] { read_input_file(name, {}, GivenPipes::refused); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("a pipe, not a file; write its output to a file")));
  EXPECT_EQ(read_input_file(name), "piped");
  ::close(ends[0]);
}

}  // namespace
}  // namespace underlap
