// SPDX-License-Identifier: Apache-2.0
#include "impl/model/text_data.hpp"

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>

#include "impl/model/shipped_text.hpp"
#include "tests/testing.hpp"

namespace underlap::model {
namespace {

std::string error_of(const std::filesystem::path& path, std::int64_t seq_length) {
  return thrown_by<std::invalid_argument>([&] { TextData::open(path, seq_length, 1); });
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

TEST(TextData, SamplesThatNobodyReadNeedNoText) {
  std::vector<std::int32_t> inputs{1};
  std::vector<std::int32_t> targets;
  TextData::unread(3).append_sample(5, inputs, targets);
  EXPECT_THAT(inputs, ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(targets, ElementsAre(0, 0, 0));
}

// Context parallelism is for sequences that are longer than it is.
TEST(TextData, TheShippedTextIsRepeatedForLongSequences) {
  const auto inputs_of = [](std::int64_t seq_length, std::int64_t id) {
    std::vector<std::int32_t> inputs, targets;
    TextData::open({}, seq_length, 1).append_sample(id, inputs, targets);
    return inputs;
  };
  const auto once = static_cast<std::int64_t>(shipped_text().size());
  const std::vector<std::int32_t> longer = inputs_of(2 * once + 5, 3);
  ASSERT_EQ(longer.size(), static_cast<std::size_t>(2 * once + 5));
  for (std::size_t i = 0; i + shipped_text().size() < longer.size(); ++i)
    ASSERT_EQ(longer[i], longer[i + shipped_text().size()]) << i;
  EXPECT_NE(inputs_of(2 * once + 5, 3), inputs_of(2 * once + 5, 4));
}

TEST(TextData, NamesTheFileThatIsMissingEmptyOrTooShort) {
  const std::filesystem::path folder = testing::TempDir();
  EXPECT_THAT(error_of(folder / "no such file", 8), AllOf(HasSubstr("no such file"), HasSubstr("train.data")));
  EXPECT_THAT(error_of(folder, 8), HasSubstr("a folder"));
  std::ofstream(folder / "empty.txt");
  EXPECT_THAT(error_of(folder / "empty.txt", 8), HasSubstr("is empty"));
  std::ofstream(folder / "short.txt") << "12345678";
  EXPECT_THAT(error_of(folder / "short.txt", 8), AllOf(HasSubstr("8 bytes"), HasSubstr("at least 9")));
  EXPECT_EQ(error_of(folder / "short.txt", 7), "");
  EXPECT_EQ(error_of({}, 128), "") << "the shipped text";
}

TEST(TextData, RefusesAPipeAndADevice) {
  const std::filesystem::path pipe = std::filesystem::path(testing::TempDir()) / "pipe of a text";
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of(pipe, 8), AllOf(HasSubstr("a named pipe"), HasSubstr("train.data")));
  EXPECT_THAT(error_of("/dev/zero", 8), AllOf(HasSubstr("a device"), HasSubstr("name a file")));
}

TEST(TextData, RefusesAFileThatIsLargerThanMemory) {
  const std::filesystem::path large = std::filesystem::path(testing::TempDir()) / "large text";
  std::ofstream(large) << "a";
  std::filesystem::resize_file(large, std::uintmax_t{1} << 42);  // holds next to nothing on the disk
  EXPECT_THAT(error_of(large, 8), AllOf(HasSubstr("4398.0 GB"), HasSubstr("of memory is free")));
  std::filesystem::remove(large);
}

}  // namespace
}  // namespace underlap::model
