// SPDX-License-Identifier: Apache-2.0
#include "platform/cbor.hpp"

#include <gmock/gmock.h>

#include <string>

namespace underlap {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Cbor, KeepsEveryValue) {
  const json value = {{"texts",
                       {"a\xFF"
                        "b",
                        ""}},
                      {"numbers", {0, -1, 1.5, 1e300, 4'294'967'296}},
                      {"none", nullptr},
                      {"empty", {json::array(), json::object()}},
                      {"deep", json::array({json::array({json::array({true})})})}};
  EXPECT_EQ(parse_cbor(to_cbor(value)), value);
}

// A million levels: the library would call itself as often, and run out of stack.
TEST(Cbor, RefusesDeepNestingInEveryForm) {
  constexpr std::size_t kLevels = 1'000'000;
  for (const char* level : {"\x81", "\x9F", "\xA1\x61k", "\xBF\x61k", "\x98\x01"}) {
    std::string bytes;
    for (std::size_t i = 0; i < kLevels; ++i) bytes += level;
    EXPECT_THAT([&] { parse_cbor(bytes + "\xF6"); }, ThrowsMessage<json::parse_error>(HasSubstr("100 levels")))
        << level;
  }
}

TEST(Cbor, TakesAHundredLevelsAndNoMore) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '\x81') + "\xF6"; };
  EXPECT_NO_THROW(parse_cbor(nested(100)));
  EXPECT_THROW(parse_cbor(nested(101)), json::parse_error);
}

TEST(Cbor, RefusesWhatEndsEarly) {
  const std::string bytes = to_cbor({{"key", {1, 2, "three"}}});
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(parse_cbor(bytes.substr(0, length)), json::parse_error) << length;
  EXPECT_THROW(parse_cbor("\x7F\x61"), json::parse_error);
  EXPECT_THROW(parse_cbor("\x5B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), json::parse_error);
}

}  // namespace
}  // namespace underlap
