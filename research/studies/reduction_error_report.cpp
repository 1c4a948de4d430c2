// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "platform/json.hpp"
#include "research/studies/reduction_error.hpp"

namespace underlap::bench {

Table reduction_error_table(const std::vector<ReductionErrorRow>& rows) {
  Table table{
      {{"group size"}, {"method", Align::left}, {"relative L2 error"}, {"over seeds", Align::right, 1}, {"bias"}}, {}};
  for (const ReductionErrorRow& row : rows)
    table.rows.push_back({std::to_string(row.group_size), std::string(to_string(row.method)),
                          fmt::format("{:.2e}", row.relative_l2_error),
                          fmt::format("{:.2e} to {:.2e}", row.over_seeds.low, row.over_seeds.high),
                          fmt::format("{:+.1e}", row.bias)});
  return table;
}

std::string reduction_error_json(const ReductionErrorStudy& study, const std::vector<ReductionErrorRow>& rows) {
  using Json = nlohmann::ordered_json;
  Json document{{"schema", "underlap.reduction_error/1"},
                {"study",
                 {{"group_sizes", study.group_sizes},
                  {"elements", study.elements},
                  {"seeds", study.seeds},
                  {"gradient",
                   {{"noise_to_signal", study.noise_to_signal},
                    {"scale_median", study.scale_median},
                    {"scale_log_sigma", study.scale_log_sigma}}}}},
                {"rows", Json::array()}};
  for (const ReductionErrorRow& row : rows)
    document["rows"].push_back({{"group_size", row.group_size},
                                {"method", to_string(row.method)},
                                {"relative_l2_error", row.relative_l2_error},
                                {"lowest_of_seeds", row.over_seeds.low},
                                {"highest_of_seeds", row.over_seeds.high},
                                {"bias", row.bias}});
  return json_text(document, 1) + "\n";
}

std::string reduction_error_markdown(const ReductionErrorStudy& study, const std::vector<ReductionErrorRow>& rows) {
  return fmt::format(
      "# Error of a reduced gradient relative to fp64\n\n{} elements, {} seeds. Gradient of a rank: log-normal scale "
      "(median {:g}, log sigma {:g}) times (signal + {:g} * noise), an assumption and not a measured gradient. "
      "Averages use the sum of the host backend's reduce-scatter. The error includes casting each gradient to the wire "
      "type; bias is the error along the exact gradient, negative if the result shrank.\n\n{}",
      study.elements, study.seeds.size(), study.scale_median, study.scale_log_sigma, study.noise_to_signal,
      markdown(reduction_error_table(rows)));
}

}  // namespace underlap::bench
