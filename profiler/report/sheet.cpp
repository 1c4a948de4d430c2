// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/text/escape.hpp"

namespace underlap::report {
namespace {

std::string line(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) out += (&field == &fields.front() ? "" : ",") + csv_field(field);
  return out + "\n";
}

}  // namespace

void Sheet::put(const std::string& column, std::string text) {
  if (std::ranges::find(columns_, column) == columns_.end()) columns_.push_back(column);
  rows_.back()[column] = std::move(text);
}

void Sheet::put(const std::string& column, const std::optional<double>& value) {
  put(column, value ? fmt::format("{}", *value) : std::string());
}

void Sheet::put(const std::string& column, const std::optional<Estimate>& estimate) {
  const auto interval = estimate ? estimate->interval : std::nullopt;
  put(column, estimate ? std::optional(estimate->value) : std::nullopt);
  put(column + "_low", interval ? std::optional(interval->low) : std::nullopt);
  put(column + "_high", interval ? std::optional(interval->high) : std::nullopt);
}

std::string Sheet::text() const {
  std::string out = line(columns_);
  for (const auto& row : rows_) {
    std::vector<std::string> fields;
    for (const std::string& column : columns_) fields.push_back(row.contains(column) ? row.at(column) : std::string());
    out += line(fields);
  }
  return out;
}

}  // namespace underlap::report
