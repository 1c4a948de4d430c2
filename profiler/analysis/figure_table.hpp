// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/table.hpp"

namespace underlap::analysis {

/// The unit of a figure, which decides its format.
enum class FigureUnit : std::uint8_t {
  time,        ///< nanoseconds; milliseconds in a text, microseconds in CSV
  short_time,  ///< nanoseconds; microseconds in both
  percent,
  number,
  megabytes  ///< bytes; megabytes in a text, bytes in CSV
};

struct FigureColumn {
  std::string title;
  std::string key;  ///< the column's name in CSV, without its unit
  FigureUnit unit = FigureUnit::time;
  int priority = 0;            ///< as TableColumn's
  bool dash_for_zero = false;  ///< for what most traces have nothing of
};

/// Columns that name a row.
struct NameColumn {
  std::string title;
  std::string key;
  bool only_where_it_differs = false;  ///< left out of a text where all rows have the same
};

struct FigureRow {
  std::vector<std::string> names;
  std::vector<std::optional<double>> figures;  ///< nullopt: not known
};

/// A table of figures that becomes a text or CSV. Every row has one name and one figure a column.
struct FigureTable {
  std::vector<NameColumn> names;
  std::vector<FigureColumn> columns;
  std::vector<FigureRow> rows;
};

/// The table as text: columns without any figure are left out, names that are longer than `longest_name` characters
/// are cut.
Table table_of(const FigureTable&, std::size_t longest_name = 60);

/// The same for a terminal.
std::string render(const FigureTable&, const TableFormat&, std::size_t longest_name = 60);

/// The name of a column in CSV, with its unit last, and the value of a figure in CSV.
std::string csv_key(const FigureColumn&);
double csv_value(const FigureColumn&, double figure);

/// All rows and columns, quoted as in RFC 4180; figures in full, and empty where they are not known.
std::string csv(const FigureTable&);

}  // namespace underlap::analysis
