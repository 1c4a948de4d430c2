// SPDX-License-Identifier: Apache-2.0
#include "impl/model/shipped_text.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace underlap {
namespace {

TEST(ShippedText, IsTheFileByteForByte) {
  std::ifstream file(UNDERLAP_SHIPPED_TEXT_FILE, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(expected.empty()) << UNDERLAP_SHIPPED_TEXT_FILE;
  EXPECT_TRUE(shipped_text() == expected) << shipped_text().size() << " bytes instead of " << expected.size();
}

TEST(ShippedText, IsPrintableAsciiWithLineFeeds) {
  EXPECT_TRUE(std::ranges::all_of(shipped_text(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

}  // namespace
}  // namespace underlap
