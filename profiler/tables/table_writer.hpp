// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "profiler/tables/column_table.hpp"
#include "profiler/trace/name.hpp"

namespace underlap::tables {

/// Makes a table of rows. A function in the namespace of the row type lists its columns:
///
///     void visit_columns(const KernelRow& row, auto&& column) {
///       column("rank", row.rank, "rank that ran it");
///       column("step", row.step, "step in which it ends");
///     }
///
/// A value is a number, a truth value, a text, a name, an enumeration with to_string(), or an optional of one. kNoName
/// and an empty optional are unknown values.
template <class Row>
class TableWriter {
 public:
  TableWriter() {
    visit_columns(Row{}, [&](const char* name, const auto& value, const char* about) {
      table_.columns.push_back({name, about, empty_values(value)});
    });
    codes_.resize(table_.columns.size());
  }

  void add(const Row& row) {
    std::size_t next = 0;
    visit_columns(row, [&](const char*, const auto& value, const char*) { add_value(next++, value); });
    ++table_.num_rows;
  }

  ColumnTable take() && { return std::move(table_); }

 private:
  using Values = decltype(Column::values);
  using Codes = std::unordered_map<std::uint64_t, std::int32_t>;

  template <class T>
  static Values empty_values(const T& value) {
    if constexpr (requires { value.has_value(); })
      return empty_values(typename T::value_type{});
    else if constexpr (std::same_as<T, bool>)
      return Bits{};
    else if constexpr (std::is_arithmetic_v<T>)
      return std::vector<T>{};
    else
      return Words{};
  }

  template <class T>
  void add_value(std::size_t index, const T& value) {
    Column& column = table_.columns[index];
    if constexpr (requires { value.has_value(); }) {
      if (add_known(column, value.has_value())) put(index, *value);
    } else if constexpr (std::same_as<T, NameId>) {
      if (add_known(column, value != kNoName)) put(index, value);
    } else {
      put(index, value);
    }
  }

  // An unknown value takes its place in the column.
  static bool add_known(Column& column, bool is_known) {
    column.known.push_back(is_known);
    if (is_known) return true;
    ++column.num_unknown;
    std::visit([](auto& values) { values.push_back({}); }, column.values);
    return false;
  }

  template <class T>
  void put(std::size_t index, const T& value) {
    Values& values = table_.columns[index].values;
    if constexpr (std::same_as<T, bool>)
      std::get<Bits>(values).push_back(value);
    else if constexpr (std::is_arithmetic_v<T>)
      std::get<std::vector<T>>(values).push_back(value);
    else
      put_word(codes_[index], std::get<Words>(values), value);
  }

  template <class T>
  void put_word(Codes& codes, Words& words, const T& value) {
    if constexpr (std::convertible_to<T, std::string_view>) {
      put_word(codes, words, intern(value));
    } else {
      const auto [code, is_new] =
          codes.try_emplace(static_cast<std::uint64_t>(value), static_cast<std::int32_t>(words.words.size()));
      if (is_new) {
        if constexpr (std::same_as<T, NameId>)
          words.words.emplace_back(name_of(value));
        else
          words.words.emplace_back(to_string(value));
      }
      words.codes.push_back(code->second);
    }
  }

  ColumnTable table_;
  std::vector<Codes> codes_;  ///< by column, of the words that it has
};

}  // namespace underlap::tables
