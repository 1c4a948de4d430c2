// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/output_file.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "platform/input/input_file.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::formats {
namespace {

TEST(ZstdFrame, ShowsAnyFlippedBit) {
  const underlap::testing_support::TemporaryFolder folder;
  const std::string text = "once upon a time, once upon a time, once upon a clock";
  const std::string frame = zstd_frame(text);
  for (std::size_t bit = 8 * 4; bit < 8 * frame.size(); ++bit) {
    std::string flipped = frame;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    underlap::testing_support::write_text(folder / "x.zst", flipped);
    ByteStream stream(folder / "x.zst");
    const FileBytes read = read_bytes(stream);
    EXPECT_TRUE(read.bytes == text || !read.fault.empty()) << "bit " << bit;
  }
}

}  // namespace
}  // namespace underlap::formats
