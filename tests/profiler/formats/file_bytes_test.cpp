// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/file_bytes.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <memory>
#include <string>

#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

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
  EXPECT_EQ(read_bytes(folder / "x", 4).bytes, "abcd");
  EXPECT_EQ(read_bytes(folder / "x.zst", 4).bytes, "abcd");
  EXPECT_EQ(read_bytes(folder / "x.zst", 4).fault, "");
}

}  // namespace
}  // namespace underlap::formats
