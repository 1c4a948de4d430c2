// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/report/results.hpp"
#include "profiler/report/statistics.hpp"

namespace underlap::report {

/// The summary of a run as one table, quoted as in RFC 4180: a row a cell, a column a figure, its unit last in the
/// column's name
/// (_ms, _bytes, _percent; a _ratio has none). An interval is two columns, _low and _high. `axis.NAME` is the cell's
/// value on that axis of the matrix, `mode.NAME.` and `purpose.NAME.` begin the figures of one kind of communication.
/// A figure that could not be formed is empty.
std::string report_csv(const RunResults& results);

/// Rows of named fields as CSV, quoted as in RFC 4180. Columns are in the order in which their names were first used; a
/// field that a row lacks is empty.
class Sheet {
 public:
  void begin_row() { rows_.emplace_back(); }

  void put(const std::string& column, std::string text);
  void put(const std::string& column, std::int64_t value) { put(column, std::to_string(value)); }
  void put(const std::string& column, const std::optional<double>& value);
  /// Three columns: the value, and its interval as _low and _high.
  void put(const std::string& column, const std::optional<Estimate>& estimate);

  std::string text() const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::map<std::string, std::string>> rows_;
};

}  // namespace underlap::report
