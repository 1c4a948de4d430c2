// SPDX-License-Identifier: Apache-2.0
#include "profiler/tables/arrow.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace underlap::tables {
namespace {

constexpr std::int64_t kNullable = 2;

// What the pointers of an ArrowSchema point to.
struct SchemaParts {
  std::string name, metadata;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

// What the pointers of an ArrowArray point to.
struct ArrayParts {
  Column column;
  std::vector<std::int32_t> offsets;  ///< of texts in `bytes`
  std::string bytes;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

// A consumer may have moved a child out, which it then releases by itself: release is null here.
template <class T>
void release_child(T* child) {
  if (child != nullptr && child->release != nullptr) child->release(child);
}

template <class T, class Parts>
void release(T* released) {
  auto* parts = static_cast<Parts*>(released->private_data);
  for (const auto& child : parts->children) release_child(child.get());
  release_child(parts->dictionary.get());
  delete parts;
  released->release = nullptr;
}

ArrowSchema schema_of(const char* format, std::unique_ptr<SchemaParts> parts, std::int64_t flags) {
  for (const auto& child : parts->children) parts->pointers.push_back(child.get());
  SchemaParts* kept = parts.release();
  return {.format = format,
          .name = kept->name.c_str(),
          .metadata = kept->metadata.empty() ? nullptr : kept->metadata.data(),
          .flags = flags,
          .n_children = static_cast<std::int64_t>(kept->pointers.size()),
          .children = kept->pointers.data(),
          .dictionary = kept->dictionary.get(),
          .release = release<ArrowSchema, SchemaParts>,
          .private_data = kept};
}

ArrowArray array_of(std::size_t length, std::unique_ptr<ArrayParts> parts) {
  for (const auto& child : parts->children) parts->pointers.push_back(child.get());
  ArrayParts* kept = parts.release();
  return {.length = static_cast<std::int64_t>(length),
          .null_count = kept->column.num_unknown,
          .offset = 0,
          .n_buffers = static_cast<std::int64_t>(kept->buffers.size()),
          .n_children = static_cast<std::int64_t>(kept->pointers.size()),
          .buffers = kept->buffers.data(),
          .children = kept->pointers.data(),
          .dictionary = kept->dictionary.get(),
          .release = release<ArrowArray, ArrayParts>,
          .private_data = kept};
}

void append_length(std::string& bytes, std::size_t length) {
  const auto number = static_cast<std::int32_t>(length);
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof number);
}

// One pair.
std::string metadata_of(const std::string& key, const std::string& value) {
  std::string bytes;
  append_length(bytes, 1);
  for (const std::string* text : {&key, &value}) {
    append_length(bytes, text->size());
    bytes += *text;
  }
  return bytes;
}

const char* format_of(const Column& column) {
  // Words are 32-bit codes.
  static constexpr const char* kFormats[] = {"i", "l", "g", "b", "i"};
  return kFormats[column.values.index()];
}

std::unique_ptr<ArrowSchema> schema_of(const Column& column) {
  auto parts = std::make_unique<SchemaParts>();
  parts->name = column.name;
  parts->metadata = metadata_of("description", column.about);
  if (std::holds_alternative<Words>(column.values))
    parts->dictionary = std::make_unique<ArrowSchema>(schema_of("u", std::make_unique<SchemaParts>(), 0));
  return std::make_unique<ArrowSchema>(schema_of(format_of(column), std::move(parts), kNullable));
}

std::unique_ptr<ArrowArray> array_of(const std::vector<std::string>& words) {
  auto parts = std::make_unique<ArrayParts>();
  parts->offsets.push_back(0);
  for (const std::string& word : words) {
    parts->bytes += word;
    parts->offsets.push_back(static_cast<std::int32_t>(parts->bytes.size()));
  }
  parts->buffers = {nullptr, parts->offsets.data(), parts->bytes.data()};
  return std::make_unique<ArrowArray>(array_of(words.size(), std::move(parts)));
}

const void* data_of(const std::vector<std::int32_t>& values) { return values.data(); }
const void* data_of(const std::vector<std::int64_t>& values) { return values.data(); }
const void* data_of(const std::vector<double>& values) { return values.data(); }
const void* data_of(const Bits& values) { return values.bytes.data(); }
const void* data_of(const Words& values) { return values.codes.data(); }

std::unique_ptr<ArrowArray> array_of(Column column, std::size_t num_rows) {
  auto parts = std::make_unique<ArrayParts>();
  parts->column = std::move(column);
  const Column& kept = parts->column;
  if (const Words* words = std::get_if<Words>(&kept.values)) parts->dictionary = array_of(words->words);
  parts->buffers = {kept.num_unknown == 0 ? nullptr : kept.known.bytes.data(),
                    std::visit([](const auto& values) { return data_of(values); }, kept.values)};
  return std::make_unique<ArrowArray>(array_of(num_rows, std::move(parts)));
}

}  // namespace

void to_arrow(ColumnTable table, ArrowSchema& schema, ArrowArray& array) {
  auto schema_parts = std::make_unique<SchemaParts>();
  auto array_parts = std::make_unique<ArrayParts>();
  array_parts->buffers = {nullptr};  // of the rows' known bits: all are known
  for (Column& column : table.columns) {
    schema_parts->children.push_back(schema_of(column));
    array_parts->children.push_back(array_of(std::move(column), table.num_rows));
  }
  schema = schema_of("+s", std::move(schema_parts), 0);
  array = array_of(table.num_rows, std::move(array_parts));
}

}  // namespace underlap::tables
