// SPDX-License-Identifier: Apache-2.0
#include "platform/table.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace underlap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Table sample() {
  return {{{"cell", Align::left}, {"step"}, {"first to go", Align::right, 2}, {"second to go", Align::right, 1}},
          {{{"a"}, {"1.50"}, {"x"}, {"y"}}, {{"longer name"}, {"12.25", Style::good}, {"x"}, {"y"}}}};
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Table, AlignsColumns) {
  EXPECT_EQ(render(sample(), {.width = 100}),
            "cell          step  first to go  second to go\n"
            "---------------------------------------------\n"
            "a             1.50            x             y\n"
            "longer name  12.25            x             y\n");
}

TEST(Table, DropsTheLeastImportantColumnsAndSaysWhich) {
  const std::string one_dropped = render(sample(), {.width = 44});
  EXPECT_THAT(one_dropped, Not(HasSubstr("first to go  ")));
  EXPECT_THAT(one_dropped, HasSubstr("second to go\n"));
  EXPECT_THAT(one_dropped, HasSubstr("not shown in 44 columns: first to go\n"));
  const std::string both = render(sample(), {.width = 20});
  EXPECT_THAT(both, HasSubstr("a             1.50\n"));
  EXPECT_THAT(both, HasSubstr("first to\ngo, second to go"));
}

TEST(Table, WrapsTheNameWhereDroppingIsNotEnough) {
  const std::string text = render(sample(), {.width = 15});
  EXPECT_THAT(text, HasSubstr("longer    12.25\nname\n"));
  EXPECT_LE(longest_line(text), 15U);
}

TEST(Table, WrapsSeveralLongColumnsAlike) {
  const Table table{{{"what", Align::left}, {"why", Align::left}, {"n"}},
                    {{{"one two three four five"}, {"six seven eight nine"}, {"1"}}}};
  EXPECT_EQ(render(table, {.width = 26}),
            "what        why          n\n"
            "--------------------------\n"
            "one two     six seven    1\n"
            "three four  eight nine\n"
            "five\n");
}

TEST(Table, CutsAWordOnlyWhereNothingElseHelps) {
  const Table table{{{"name", Align::left}, {"what", Align::left}},
                    {{{"a_long_name_that_is_one_word"}, {"short words that can be wrapped"}}}};
  EXPECT_THAT(render(table, {.width = 40}), HasSubstr("a_long_name_that_is_one_word  short\n"));
  EXPECT_THAT(render(table, {.width = 20}), Not(HasSubstr("a_long_name_that_is_one_word")));
}

TEST(Table, WrapsAColumnThatHasALimitWhateverFits) {
  const Table table{{{"what", Align::left, 0, 10}, {"n"}}, {{{"one two three"}, {"1"}}, {{"a_word_of_13_"}, {"2"}}}};
  EXPECT_EQ(render(table, {.width = 100}),
            "what        n\n"
            "-------------\n"
            "one two     1\n"
            "three\n"
            "a_word_of_  2\n"
            "13_\n");
}

TEST(Table, NeverIsWiderThanTheTerminal) {
  Table table = sample();
  table.rows[0][0].text = "a name without any space that would go on and on_and_on_and_on_and_on_and_on_and_on_and_on";
  for (int width = 20; width <= 200; ++width)
    ASSERT_LE(longest_line(render(table, {.width = width})), static_cast<std::size_t>(width)) << width;
}

TEST(Wrap, BreaksAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(wrap("one line", 8), "one line\n");
  EXPECT_EQ(wrap("hides a third of it", 12, "  "), "hides a\n  third of\n  it\n");
  EXPECT_EQ(wrap("abcdefghijklm no", 10, "  "), "abcdefghij\n  klm no\n");
}

TEST(Wrap, KeepsAPerCentSignBesideItsFigure) { EXPECT_EQ(wrap("it hides 12 % of it", 12), "it hides\n12 % of it\n"); }

TEST(Table, ColorsOnlyWhenAsked) {
  EXPECT_THAT(render(sample(), {.width = 100}), Not(HasSubstr("\033")));
  EXPECT_THAT(render(sample(), {.width = 100, .color = true}), HasSubstr("  \033[32m12.25\033[0m  "));
}

TEST(Table, KeepsUnicodeOnlyWhereTheTerminalHasIt) {
  Table table{{{"time µs", Align::left}, {"x"}}, {{{"3 µs ± 1 ×日"}, {"1"}}}};
  EXPECT_EQ(render(table, {.width = 80}), "time us       x\n---------------\n3 us +- 1 x?  1\n");
  EXPECT_THAT(render(table, {.width = 80, .unicode = true}), HasSubstr("3 µs ± 1 ×日  1\n"));
}

TEST(Table, MarkdownHasAllColumnsAndEscapesBars) {
  Table table = sample();
  table.rows[0][0].text = "a|b";
  EXPECT_EQ(markdown(table),
            "| cell | step | first to go | second to go |\n"
            "| :-- | --: | --: | --: |\n"
            "| a\\|b | 1.50 | x | y |\n"
            "| longer name | 12.25 | x | y |\n");
}

TEST(Table, MarkdownTakesNothingForATag) {
  EXPECT_THAT(markdown({{{"kernel"}}, {{{"scan<float>"}}}}), HasSubstr("| scan\\<float> |"));
}

TEST(Table, MarkdownShowsCodeAndStrongCells) {
  const Table table{{{"what", Align::left}}, {{{{"a|b `c`", Style::code}}}, {{{"worse", Style::strong}}}}};
  EXPECT_EQ(markdown(table), "| what |\n| :-- |\n| `` a\\|b `c` `` |\n| **worse** |\n");
}

TEST(Table, ShowsNamesThatWouldActOnATerminal) {
  const Table table{{{"kernel", Align::left}, {"x"}}, {{{"gemm\033[2J\nb\u202e"}, {"1"}}}};
  EXPECT_EQ(render(table, {.width = 80}),
            "kernel                x\n-----------------------\ngemm\\x1b[2J\\nb\\u202e  1\n");
}

TEST(Table, RefusesARowThatDoesNotFit) {
  Table table = sample();
  table.rows[1].pop_back();
  EXPECT_THROW(render(table, {}), std::invalid_argument);
  EXPECT_THROW(markdown(table), std::invalid_argument);
}

}  // namespace
}  // namespace underlap
