// SPDX-License-Identifier: Apache-2.0
#include "profiler/tables/table_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "profiler/tables/arrow.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap::tables {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty;

struct Row {
  std::int32_t rank = 0;
  std::optional<std::int64_t> bytes{};
  bool is_counted = false;
  NameId name = kNoName;
  std::optional<Mode> mode{};
  double rate = 0;
};

void visit_columns(const Row& row, auto&& column) {
  column("rank", row.rank, "rank");
  column("bytes", row.bytes, "size");
  column("is_counted", row.is_counted, "whether it counts");
  column("name", row.name, "name");
  column("mode", row.mode, "mode");
  column("rate", row.rate, "rate");
}

ColumnTable two_rows() {
  TableWriter<Row> writer;
  writer.add({3, 7, true, intern("gemm"), Mode::dp, 0.5});
  writer.add({4, std::nullopt, false, kNoName, std::nullopt, 1.5});
  return std::move(writer).take();
}

template <class T>
const T& values_of(const Column& column) {
  return std::get<T>(column.values);
}

TEST(TableWriter, KeepsValuesByColumn) {
  const ColumnTable table = two_rows();
  ASSERT_EQ(table.columns.size(), 6);
  EXPECT_EQ(table.num_rows, 2);
  EXPECT_THAT(values_of<std::vector<std::int32_t>>(table.columns[0]), ElementsAre(3, 4));
  EXPECT_THAT(values_of<Bits>(table.columns[2]).bytes, ElementsAre(1));
  EXPECT_THAT(values_of<std::vector<double>>(table.columns[5]), ElementsAre(0.5, 1.5));
}

TEST(TableWriter, MarksUnknownValues) {
  const ColumnTable table = two_rows();
  EXPECT_THAT(values_of<std::vector<std::int64_t>>(table.columns[1]), ElementsAre(7, 0));
  for (const int column : {1, 3, 4}) {
    EXPECT_EQ(table.columns[column].num_unknown, 1);
    EXPECT_THAT(table.columns[column].known.bytes, ElementsAre(1));
  }
  EXPECT_EQ(table.columns[0].num_unknown, 0);
}

TEST(TableWriter, StoresAWordOnceAndNoneForUnknownValues) {
  TableWriter<Row> writer;
  for (const char* name : {"gemm", "copy", "", "gemm"}) writer.add({.name = intern(name)});
  const ColumnTable table = std::move(writer).take();
  EXPECT_THAT(values_of<Words>(table.columns[3]).words, ElementsAre("gemm", "copy"));
  EXPECT_THAT(values_of<Words>(table.columns[3]).codes, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(values_of<Words>(table.columns[4]).words, IsEmpty());
}

TEST(TableWriter, HasItsColumnsWithoutRows) {
  const ColumnTable table = TableWriter<Row>().take();
  EXPECT_EQ(table.num_rows, 0);
  EXPECT_EQ(table.columns.size(), 6);
}

TEST(Bits, FillBytesFromTheLowestBit) {
  Bits bits;
  for (int i = 0; i < 10; ++i) bits.push_back(i == 0 || i == 7 || i == 9);
  EXPECT_THAT(bits.bytes, ElementsAre(0b1000'0001, 0b10));
}

// Pairs of the two structures that are handed over.
struct Exported {
  ArrowSchema schema{};
  ArrowArray array{};

  Exported() { to_arrow(two_rows(), schema, array); }
  ~Exported() {
    if (schema.release != nullptr) schema.release(&schema);
    if (array.release != nullptr) array.release(&array);
  }
  template <class T>
  const T* buffer(int column, int index) const {
    return static_cast<const T*>(array.children[column]->buffers[index]);
  }
};

TEST(Arrow, HasTypesNamesAndRows) {
  const Exported exported;
  EXPECT_STREQ(exported.schema.format, "+s");
  EXPECT_EQ(exported.array.length, 2);
  std::string formats;
  for (int i = 0; i < exported.schema.n_children; ++i) formats += exported.schema.children[i]->format;
  EXPECT_EQ(formats, "ilbiig");
  EXPECT_STREQ(exported.schema.children[1]->name, "bytes");
  EXPECT_EQ(exported.buffer<std::int64_t>(1, 1)[0], 7);
}

TEST(Arrow, HasABitForEachValueOnlyWhereOneIsUnknown) {
  const Exported exported;
  EXPECT_EQ(exported.buffer<std::uint8_t>(0, 0), nullptr);
  EXPECT_EQ(exported.array.children[1]->null_count, 1);
  EXPECT_EQ(exported.buffer<std::uint8_t>(1, 0)[0], 1);
}

TEST(Arrow, HasWordsInADictionary) {
  const Exported exported;
  EXPECT_STREQ(exported.schema.children[4]->dictionary->format, "u");
  const ArrowArray& words = *exported.array.children[4]->dictionary;
  EXPECT_EQ(words.length, 1);
  const auto* offsets = static_cast<const std::int32_t*>(words.buffers[1]);
  EXPECT_EQ(std::string(static_cast<const char*>(words.buffers[2]), offsets[1]), "dp");
}

TEST(Arrow, AChildThatAConsumerMovedOutOutlivesTheTable) {
  Exported exported;
  ArrowArray moved = *exported.array.children[1];
  exported.array.children[1]->release = nullptr;
  exported.array.release(&exported.array);
  EXPECT_EQ(exported.array.release, nullptr);
  EXPECT_EQ(static_cast<const std::int64_t*>(moved.buffers[1])[0], 7);
  moved.release(&moved);
}

}  // namespace
}  // namespace underlap::tables
