// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace underlap::bench {

/// An entry of bench/metrics; bench/metrics/common.yaml describes its parts.
struct Metric {
  std::string key;  ///< may end in * for any unit
  std::string meaning;
  std::string unit;
  std::string null_if;
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::string>> words;
};

/// The names of all sections of bench/metrics/*.yaml: a format, a study, or "tables".
std::vector<std::string> metric_sections();

/// The entries of a section in their order.
std::vector<Metric> metrics_of(const std::string& section);

/// Whether the metric's key matches the end of `path`, such as cells.statistics.step_ms.
bool defines(const Metric& metric, const std::string& path);

/// A Markdown table of the metrics.
std::string metrics_table(const std::vector<Metric>& metrics);

}  // namespace underlap::bench
