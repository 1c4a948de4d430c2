// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/value_json.hpp"

#include <gtest/gtest.h>

namespace underlap::plan {
namespace {

TEST(Value, IsWrittenAsJson) {
  EXPECT_EQ(to_json_text(Value()), "null");
  EXPECT_EQ(to_json_text(true), "true");
  EXPECT_EQ(to_json_text(134'217'728), "134217728");
  EXPECT_EQ(to_json_text(1e-8), "1e-08");
  EXPECT_EQ(to_json_text("a \"b\""), R"("a \"b\"")");
  EXPECT_EQ(to_json_text(ValueList{"p2p", 2, Value()}), R"(["p2p",2,null])");
}

TEST(Value, KeepsTheOrderOfAMappingsKeys) {
  EXPECT_EQ(to_json_text(ValueMapping{{"num_sm", 4}, {"aggregate", false}}), R"({"num_sm":4,"aggregate":false})");
}

// A knob that is a real number is written 4 by whoever sets it to 4.
TEST(Value, WritesAWholeRealWithoutAFraction) {
  EXPECT_EQ(to_json_text(4.0), "4");
  EXPECT_EQ(json_text(to_json_tree(4.0)), "4");
  EXPECT_EQ(json_text(to_json_tree(-2.5)), "-2.5");
  EXPECT_EQ(json_text(to_json_tree(1e18)), "1e+18");
}

TEST(Value, ADifferentTypeIsAnotherValue) {
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_NE(Value("true"), Value(true));
}

TEST(Value, FindsAKeyOfAMappingOnly) {
  const Value mapping = ValueMapping{{"method", "bulk"}};
  EXPECT_EQ(*find(mapping, "method"), Value("bulk"));
  EXPECT_EQ(find(mapping, "num_sm"), nullptr);
  EXPECT_EQ(find(Value("method"), "method"), nullptr);
}

}  // namespace
}  // namespace underlap::plan
