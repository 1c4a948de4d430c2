// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/cut_windows.hpp"

#include <gmock/gmock.h>

namespace underlap::report {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty;

TEST(CutWindows, TakesTheRanksOfSamplesAlone) {
  const CutResults cut = cut_windows(
      R"({"ranks": [0], "cells": [{"own": {"ranks": [1]}, "samples": [{"ranks": [{"a": [2]}]}, {"x": 3, "ranks" : []}]},)"
      R"( {"ranks": [4], "samples": [{"ranks": [5], "more": [6]}]}]})");
  EXPECT_THAT(cut.windows, ElementsAre(R"([{"a": [2]}])", "[]", "[5]"));
  EXPECT_EQ(cut.rest,
            R"({"ranks": [0], "cells": [{"own": {"ranks": [1]}, "samples": [{"ranks": []}, {"x": 3, "ranks" : []}]},)"
            R"( {"ranks": [4], "samples": [{"ranks": [], "more": [6]}]}]})");
}

TEST(CutWindows, ReadsStringsAsStrings) {
  const CutResults cut = cut_windows(
      R"({"cells": [{"name": "\"samples\": [{", "samples": [{"ranks": [{"]}\\": "["}], "note": "ranks"}]}]})");
  EXPECT_THAT(cut.windows, ElementsAre(R"([{"]}\\": "["}])"));
  EXPECT_EQ(cut.rest, R"({"cells": [{"name": "\"samples\": [{", "samples": [{"ranks": [], "note": "ranks"}]}]})");
}

TEST(CutWindows, EndsWithATextThatIsCutShort) {
  const std::string text = R"({"cells": [{"samples": [{"ranks": [{"a": "b\"c"}]}]}]})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const CutResults cut = cut_windows(std::string_view(text).substr(0, length));
    EXPECT_LE(cut.rest.size(), length + 2);
  }
  EXPECT_THAT(cut_windows("]]}}\"\\").windows, IsEmpty());
}

}  // namespace
}  // namespace underlap::report
