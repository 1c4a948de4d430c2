// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace underlap::tables {

/// Bits in bytes, the first one lowest, as Arrow stores them.
struct Bits {
  std::vector<std::uint8_t> bytes;
  std::size_t size = 0;

  void push_back(bool bit) {
    if (size % 8 == 0) bytes.push_back(0);
    if (bit) bytes.back() |= static_cast<std::uint8_t>(1U << size % 8);
    ++size;
  }
};

/// Texts, each stored once.
struct Words {
  std::vector<std::int32_t> codes;  ///< by row, an index into words; 0 of an unknown value
  std::vector<std::string> words;

  void push_back(std::int32_t code) { codes.push_back(code); }
};

/// One column.
struct Column {
  std::string name;   ///< ends with its unit: "start_ns"
  std::string about;  ///< its meaning, one clause
  std::variant<std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<double>, Bits, Words> values;
  Bits known{};                  ///< by row, whether the value is known; not used if all are
  std::int64_t num_unknown = 0;  ///< rows without a value
};

/// A table in columns of equal size, for programs in other languages.
struct ColumnTable {
  std::vector<Column> columns;
  std::size_t num_rows = 0;
};

}  // namespace underlap::tables
