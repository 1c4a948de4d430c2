// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/reasons_table.hpp"

#include <fmt/format.h>

#include "profiler/trace/kernel_name.hpp"

namespace underlap::analysis {

TitledTable reasons_table(const ExposureReasons& reasons, std::size_t most_rows) {
  if (reasons.sums.empty()) return {.title = "", .table = {}, .notes = {"No communication is exposed."}};
  TitledTable titled{.title = "Why communication is exposed",
                     .table = {.columns = {{.title = "exposed communication", .align = Align::left, .widest = 30},
                                           {.title = "mode", .align = Align::left},
                                           {.title = "count"},
                                           {.title = "ms"},
                                           {.title = "reason", .align = Align::left, .widest = 60},
                                           {.title = "compute that waits for it", .align = Align::left, .widest = 40}},
                               .rows = {}}};
  for (const ExposureReasonSum& sum : reasons.sums) {
    if (titled.table.rows.size() == most_rows) break;
    titled.table.rows.push_back({sum.purpose == kNoName ? "-" : std::string(name_of(sum.purpose)),
                                 sum.mode == Mode::none ? "-" : std::string(to_string(sum.mode)),
                                 fmt::format("{}", sum.count),
                                 fmt::format("{:.3f}", static_cast<double>(sum.exposed_ns) / 1e6),
                                 clause_of(sum) + (sum.is_guessed ? " (guessed)" : ""),
                                 sum.holds_up == kNoName ? "-" : short_work_name(name_of(sum.holds_up))});
  }
  const std::size_t rows = reasons.sums.size();
  if (rows > most_rows)
    titled.notes.push_back(fmt::format("First {} of {} rows shown; --json has all.", most_rows, rows));
  return titled;
}

}  // namespace underlap::analysis
