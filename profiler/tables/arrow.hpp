// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "profiler/tables/column_table.hpp"

/// Two structures that any program with Arrow can take over without a copy, and without a library of Arrow's here.
/// Source: "The Arrow C data interface", https://arrow.apache.org/docs/format/CDataInterface.html, which fixes the
/// order and types of all members.
extern "C" {

struct ArrowSchema {
  const char* format;  ///< the type: "i" 32-bit integer, "l" 64-bit integer, "g" double, "b" bits, "u" text, "+s" table
  const char* name;    ///< of the column
  const char* metadata;  ///< pairs of length-prefixed texts
  std::int64_t flags;    ///< 2: values may be unknown
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;        ///< type of the words, of a column of codes
  void (*release)(ArrowSchema*);  ///< frees everything; null after that
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;      ///< rows
  std::int64_t null_count;  ///< rows without a value
  std::int64_t offset;      ///< rows to skip
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;  ///< known bits, values; of texts known bits, offsets, bytes
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // extern "C"

namespace underlap::tables {

/// Exports a table as one record batch. The caller calls `release` of both structures.
void to_arrow(ColumnTable table, ArrowSchema& schema, ArrowArray& array);

}  // namespace underlap::tables
