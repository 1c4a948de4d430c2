// SPDX-License-Identifier: Apache-2.0
#include "impl/model/text_data.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace underlap::model {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::filesystem::path& path, std::int64_t seq_length) {
  try {
    TextData::open(path, seq_length, 1);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

TEST(TextData, TargetsAreTheBytesThatFollow) {
  const TextData data("abcd", "text", 3, 1);
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
  data.append_sample(5, inputs, targets);
  EXPECT_THAT(inputs, ElementsAre('a', 'b', 'c'));
  EXPECT_THAT(targets, ElementsAre('b', 'c', 'd'));
}

TEST(TextData, ASampleDependsOnItsIdAndTheSeedAlone) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>('a' + i * i % 26);
  const auto sample = [&](std::uint64_t seed, std::int64_t id) {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> targets;
    TextData(text, "text", 50, seed).append_sample(id, inputs, targets);
    return inputs;
  };
  EXPECT_EQ(sample(1, 7), sample(1, 7));
  EXPECT_NE(sample(1, 7), sample(1, 8));
  EXPECT_NE(sample(1, 7), sample(2, 7));
}

TEST(TextData, NamesTheFileThatIsMissingEmptyOrTooShort) {
  const std::filesystem::path folder = testing::TempDir();
  EXPECT_THAT(error_of(folder / "no such file", 8), AllOf(HasSubstr("no such file"), HasSubstr("train.data")));
  EXPECT_THAT(error_of(folder, 8), HasSubstr("directory"));
  std::ofstream(folder / "empty.txt");
  EXPECT_THAT(error_of(folder / "empty.txt", 8), HasSubstr("is empty"));
  std::ofstream(folder / "short.txt") << "12345678";
  EXPECT_THAT(error_of(folder / "short.txt", 8), AllOf(HasSubstr("8 bytes"), HasSubstr("at least 9")));
  EXPECT_EQ(error_of(folder / "short.txt", 7), "");
  EXPECT_EQ(error_of({}, 128), "") << "the shipped text";
}

}  // namespace
}  // namespace underlap::model
