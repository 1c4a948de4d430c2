// SPDX-License-Identifier: Apache-2.0
#include "platform/text/escape.hpp"

#include <gmock/gmock.h>

#include <string>

#include "platform/json.hpp"
#include "platform/text/digits.hpp"

namespace underlap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VisibleText, KeepsText) {
  EXPECT_EQ(visible_text(""), "");
  EXPECT_EQ(visible_text("void gemm<float, 3>(int*) 日本 µs é"), "void gemm<float, 3>(int*) 日本 µs é");
  EXPECT_EQ(visible_text("a\\b"), "a\\b");
}

TEST(VisibleText, ShowsWhatWouldActOnATerminal) {
  EXPECT_EQ(visible_text(std::string_view("a\0b\x07\x1b[2J\x7f", 9)), "a\\x00b\\x07\\x1b[2J\\x7f");
  EXPECT_EQ(visible_text("a\r\n\tb"), "a\\r\\n\\tb");
  EXPECT_EQ(visible_text("\u009b2J"), "\\u009b2J");
  EXPECT_EQ(visible_text("\u2028\u2029\u0085"), "\\u2028\\u2029\\u0085");
}

TEST(VisibleText, ShowsWhatWouldReorderOrHideText) {
  EXPECT_EQ(visible_text("\u202a\u202e\u2066\u2069\u200e\u200f\u061c"),
            "\\u202a\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c");
  EXPECT_EQ(visible_text("a\u200b\u200d\u2060\ufeff\u00ad\u3164"), "a\\u200b\\u200d\\u2060\\ufeff\\u00ad\\u3164");
  EXPECT_EQ(visible_text("a\U000e0041"), "a\\U000e0041");
}

TEST(VisibleText, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(visible_text("a\x9b"
                         "2J"),
            "a\\x9b2J");
  EXPECT_EQ(visible_text("\xc1\x9b"), "\\xc1\\x9b");           // overlong
  EXPECT_EQ(visible_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a pair
  EXPECT_EQ(visible_text("\xe2\x80"), "\\xe2\\x80");           // cut short
}

TEST(FirstCharacters, DoesNotCutACharacter) {
  EXPECT_EQ(first_characters("ab", 3), "ab");
  EXPECT_EQ(first_characters("aµb", 2), "a");
  EXPECT_EQ(first_characters("aµb", 3), "aµ");
  EXPECT_EQ(first_characters("日本", 5), "日");
}

TEST(LaidOutText, KeepsLinesAndColors) {
  const std::string text = "a\t1\n\033[31mbad\033[0m \033[2J\n";
  EXPECT_EQ(laid_out_text(text, Colors::kept), "a\t1\n\033[31mbad\033[0m \\x1b[2J\n");
  EXPECT_EQ(laid_out_text(text), "a\t1\n\\x1b[31mbad\\x1b[0m \\x1b[2J\n");
  EXPECT_EQ(laid_out_text("a\n\nb"), "a\n\nb");
}

TEST(LaidOutText, HoldsNoCommandsOfCiSystems) {
  EXPECT_EQ(laid_out_text("::error::a\n  ::stop-commands::x\nat::native"),
            "\\::error::a\n  \\::stop-commands::x\nat::native");
  EXPECT_EQ(laid_out_text("a ##[error]b ##vso[task.setvariable]c # ## [d"),
            "a #\\#[error]b #\\#vso[task.setvariable]c # ## [d");
}

TEST(JsonEscaped, HoldsTheSameText) {
  const std::string name = "a\033[2J\u009b\u202e\U000e0041 ##[group]µ";
  const std::string json = json_text(nlohmann::ordered_json{{"name", name}}, 1);
  EXPECT_EQ(json, "{\n \"name\": \"a\\u001b[2J\\u009b\\u202e\\udb40\\udc41 \\u0023#[group]µ\"\n}");
  EXPECT_EQ(parse_json(json).at("name"), name);
}

TEST(MarkdownText, KeepsFiguresAndNames) {
  for (const char* text : {"1.009 [0.901, 1.130]", "a [1, 2]: b", "reduce_scatter", "-", "-5.2 %", "+-0.6 %",
                           "128 * 1024", "#", "14 -> 8", "no (2 of 5)", "a #", "C++", "3 & 4", "12"})
    EXPECT_EQ(markdown_text(text), text);
}

TEST(MarkdownText, EscapesMarksOfMarkdown) {
  EXPECT_EQ(markdown_text("scan<float>"), "scan\\<float>");
  EXPECT_EQ(markdown_text("\\<b>"), "\\\\\\<b>");
  EXPECT_EQ(markdown_text("![a](http://b)"), "![a\\](http`://`b)");
  EXPECT_EQ(markdown_text("[a]: b [c][d] [[e]]"), "\\[a]: b [c\\][d] \\[[e]]");
  EXPECT_EQ(markdown_text("`a` **b** ~~c~~ $d$ a|b _e_"), "\\`a\\` \\*\\*b\\*\\* \\~\\~c\\~\\~ \\$d\\$ a\\|b \\_e\\_");
  EXPECT_EQ(markdown_text("&#64;a &lt;"), "\\&`#`64;a \\&lt;");
  EXPECT_EQ(markdown_text("a\nb\033"), "a\\\\nb\\\\x1b");
}

TEST(MarkdownText, MentionsNobodyAndLinksNothing) {
  EXPECT_EQ(markdown_text("@user a@b.com @ x"), "`@`user a`@`b.com @ x");
  EXPECT_EQ(markdown_text("#12 !3 www.a.b WWW.c"), "`#`12 `!`3 `www.`a.b `WWW.`c");
}

TEST(MarkdownText, HoldsNoCommandsOfCiSystems) {
  EXPECT_EQ(markdown_text("a ##[error]"), "a #\\#[error]");
  EXPECT_EQ(markdown_code("a ##[error]"), "`a #\\#[error]`");
}

TEST(MarkdownText, StartsNoBlock) {
  EXPECT_EQ(markdown_text("# a"), "\\# a");
  EXPECT_EQ(markdown_text("> a"), "\\> a");
  EXPECT_EQ(markdown_text("- a"), "\\- a");
  EXPECT_EQ(markdown_text("* a"), "\\* a");
  EXPECT_EQ(markdown_text("### a"), "\\#\\#\\# a");
  EXPECT_EQ(markdown_text("---"), "\\---");
  EXPECT_EQ(markdown_text("==="), "\\===");
  EXPECT_EQ(markdown_text("1. a"), "1\\. a");
  EXPECT_EQ(markdown_text("1.5"), "1.5");
}

TEST(MarkdownCode, CannotBeLeft) {
  EXPECT_EQ(markdown_code("run a"), "`run a`");
  EXPECT_EQ(markdown_code("a`b``c"), "```a`b``c```");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
  EXPECT_EQ(markdown_code("a\nb"), "`a\\nb`");
  EXPECT_EQ(markdown_block("a\n```\nb\n"), "````\na\n```\nb\n````\n");
}

TEST(MarkupText, HoldsNoMarkup) {
  EXPECT_EQ(markup_text("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(markup_text("a\nb\033\xff\u202e"), "a&#10;b\\x1b\\xff\\u202e");
}

TEST(AnnotationText, StaysInItsCommand) {
  EXPECT_EQ(annotation_text("100%\r\n::error::a, b", false), "100%25%0D%0A::error::a, b");
  EXPECT_EQ(annotation_text("a:b,c", true), "a%3Ab%2Cc");
  EXPECT_EQ(annotation_text("\033[2J##[error]", false), "\\x1b[2J#\\#[error]");
}

TEST(CsvField, IsOneFieldOnOneLine) {
  EXPECT_EQ(csv_field("a"), "a");
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_field("a\r\nb\033"), "a\\r\\nb\\x1b");
}

TEST(CsvField, IsNoFormula) {
  EXPECT_EQ(csv_field("=HYPERLINK(\"a\")"), "\"'=HYPERLINK(\"\"a\"\")\"");
  EXPECT_EQ(csv_field("@a"), "'@a");
  for (const char* number : {"-1.5", "+2", "-", "-1e-9", "-inf"}) EXPECT_EQ(csv_field(number), number);
}

TEST(Digits, OfLargeValuesAreAllShown) {
  EXPECT_EQ(in_digits(12.3456, 3), "12.3");
  EXPECT_EQ(in_digits(0.5, 4), "0.5");
  EXPECT_EQ(in_digits(999.6, 3), "1000");
  EXPECT_EQ(in_digits(12345.6, 4), "12346");
  EXPECT_EQ(in_digits(-1234567, 3), "-1234567");
}

}  // namespace
}  // namespace underlap
