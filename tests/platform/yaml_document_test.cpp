// SPDX-License-Identifier: Apache-2.0
#include "platform/yaml_document.hpp"

#include <gmock/gmock.h>

namespace underlap::yaml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Read {
  Problems problems{"f", {}};
  Document document;
  explicit Read(const std::string& yaml) : document(read_document(yaml, problems)) {}
  std::vector<std::string> errors() const {
    std::vector<std::string> lines;
    for (const Message& message : problems.messages()) lines.push_back(message.where + ": " + message.message);
    return lines;
  }
};

TEST(YamlDocument, CountsLinesAndColumnsFromOne) {
  const Read read("a: 1\nb:\n  c: 2\n");
  const Entry& b = read.document.root->entries.at(1);
  EXPECT_EQ(b.place, (Place{-1, 2, 1}));
  EXPECT_EQ(b.value->entries.at(0).place, (Place{-1, 3, 3}));
  EXPECT_EQ(b.value->entries.at(0).value->place, (Place{-1, 3, 6}));
}

TEST(YamlDocument, ReportsDuplicateKeysInBlockAndFlowMappings) {
  EXPECT_THAT(Read("a: 1\nb: {c: 1, c: 1}\na: 2\n").errors(),
              ElementsAre("f:2:11: duplicate key \"c\", first written at f:2:5; keep one of them",
                          "f:3:1: duplicate key \"a\", first written at f:1:1; keep one of them"));
}

TEST(YamlDocument, KeepsTheFirstOfTwoEqualKeys) {
  EXPECT_EQ(Read("a: 1\na: 2\n").document.root->entries.at(0).value->text, "1");
}

TEST(YamlDocument, FollowsAliases) {
  const Read read("a: &x {k: 1}\nb: *x\n");
  EXPECT_THAT(read.errors(), IsEmpty());
  EXPECT_EQ(read.document.root->entries.at(1).value->entries.at(0).value->text, "1");
}

TEST(YamlDocument, MergesWithoutOverwriting) {
  const Read read("a: &x {k: 1, l: 2}\nb: &y {m: 3}\nc: {k: 9, <<: [*x, *y]}\n");
  EXPECT_THAT(read.errors(), IsEmpty());
  std::string merged;
  for (const Entry& entry : read.document.root->entries.at(2).value->entries)
    merged += entry.key + "=" + entry.value->text + " ";
  EXPECT_EQ(merged, "k=9 l=2 m=3 ");
}

TEST(YamlDocument, RefusesToMergeAScalar) { EXPECT_THAT(Read("a: {<<: 3}").errors(), ElementsAre(HasSubstr("f:1:9"))); }

TEST(YamlDocument, RefusesAnAliasInsideItself) {
  EXPECT_THAT(Read("a: &x {k: *x}").errors(), ElementsAre(StartsWith("f:1:11: an alias inside the value")));
}

TEST(YamlDocument, RefusesDeepNestingWithoutRecursingIntoIt) {
  for (const char* open : {"[", "{a: ", "- ", "? "}) {
    std::string yaml;
    for (int i = 0; i < 20000; ++i) yaml += open;
    EXPECT_THAT(Read(yaml).errors(), testing::SizeIs(1)) << open;
  }
}

TEST(YamlDocument, RefusesASecondDocument) {
  EXPECT_THAT(Read("a: 1\n---\nb: 2\n").errors(), ElementsAre(HasSubstr("a second YAML document")));
}

TEST(YamlDocument, RefusesAKeyThatIsNoWord) {
  EXPECT_THAT(Read("[a, b]: 1").errors(), ElementsAre(HasSubstr("a key must be a word, not a list")));
  EXPECT_THAT(Read(": 1").errors(), ElementsAre(HasSubstr("a key must be a word, not nothing")));
}

TEST(YamlDocument, TellsQuotedTextFromPlain) {
  const Read read("a: \"true\"\nb: true\nc: !!str true\n");
  EXPECT_TRUE(read.document.root->entries.at(0).value->is_quoted);
  EXPECT_FALSE(read.document.root->entries.at(1).value->is_quoted);
  EXPECT_TRUE(read.document.root->entries.at(2).value->is_quoted);
}

TEST(YamlDocument, RefusesMergesThatAFewBytesMultiply) {
  std::string yaml = "a: &a {";
  for (int i = 0; i < 1000; ++i) yaml += "k" + std::to_string(i) + ": 1, ";
  yaml += "}\nb: [";
  for (int i = 0; i < 1000; ++i) yaml += "{<<: *a}, ";
  const Read read(yaml + "]\n");
  EXPECT_THAT(read.errors(), ElementsAre(HasSubstr("<< merges more than 100000 keys in this file")));
  EXPECT_EQ(read.document.root, nullptr);
}

}  // namespace
}  // namespace underlap::yaml
