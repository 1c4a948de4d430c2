// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "impl/device/sim/transfer_model.hpp"
#include "platform/json.hpp"
#include "profiler/trace/enum_names.hpp"
#include "research/studies/collective_times.hpp"
#include "research/studies/model_errors.hpp"

namespace underlap::bench {
namespace {

constexpr EnumNames<PointUse, 3> kUses{{"fitted", "held out", "unread"}};

struct SizeRange {
  const char* name;
  std::int64_t from, to;  // bytes, `to` excluded
};
constexpr std::array<SizeRange, 3> kRanges{{
    {"below 1 MB", 0, 1'000'000},
    {"1 to 128 MB", 1'000'000, 128'000'000},
    {"from 128 MB", 128'000'000, std::numeric_limits<std::int64_t>::max()},
}};

std::string size_text(std::int64_t bytes) {
  constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

double busbw(const CollectiveRow& row, double time_us) {
  return static_cast<double>(row.point.bytes) * sim::bus_factor(row.log->collective, row.log->ranks) / (1000 * time_us);
}

Errors held_out_errors(const std::vector<CollectiveRow>& rows, const CollectiveLog& log, const SizeRange& range) {
  std::vector<double> errors;
  for (const CollectiveRow& row : rows)
    if (row.log == &log && row.point.use == PointUse::held_out && row.point.bytes >= range.from &&
        row.point.bytes < range.to)
      errors.push_back(row.error());
  return errors_of(std::move(errors));
}

nlohmann::ordered_json fits_json(const std::vector<CollectiveLog>& logs) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const CollectiveLog& log : logs)
    for (const FittedTimes& fit : fit_collective_times(log, logs)) {
      nlohmann::ordered_json segments = nlohmann::ordered_json::array();
      for (const sim::Segment& segment : fit.segments)
        segments.push_back({{"up_to_bytes", segment.up_to_bytes},
                            {"latency_us", segment.latency_us},
                            {"busbw_gb_per_s", segment.busbw_gb_per_s}});
      out.push_back({{"log", log.name}, {"algorithm", to_string(fit.algorithm)}, {"segments", segments}});
    }
  return out;
}

}  // namespace

Table collective_times_table(const std::vector<CollectiveRow>& rows) {
  Table table{{{"log", Align::left},
               {"size"},
               {"measured us"},
               {"busbw GB/s"},
               {"read to", Align::right, 3},
               {"algorithm", Align::left, 2},
               {"model us"},
               {"error"},
               {"use", Align::left},
               {"NCCL's model us", Align::right, 1}},
              {}};
  for (const CollectiveRow& row : rows)
    table.rows.push_back({row.log->name, size_text(row.point.bytes), fmt::format("{:.1f}", row.point.time_us),
                          fmt::format("{:.1f}", busbw(row, row.point.time_us)),
                          row.point.reading_error > 0 ? fmt::format("+-{}", percent(row.point.reading_error)) : "",
                          row.algorithm, fmt::format("{:.1f}", row.model_us), signed_percent(row.error()),
                          std::string(kUses[row.point.use]), fmt::format("{:.1f}", row.tuner_us)});
  return table;
}

Table collective_errors_table(const std::vector<CollectiveRow>& rows) {
  Table table{{{"log", Align::left}, {"sizes", Align::left}, {"held out"}, {"mean error"}, {"largest"}, {"allowed"}},
              {}};
  const CollectiveLog* last = nullptr;
  for (const CollectiveRow& row : rows) {
    if (row.log == last) continue;
    last = row.log;
    for (const SizeRange& range : kRanges) {
      const Errors errors = held_out_errors(rows, *row.log, range);
      if (errors.points == 0) continue;
      const double allowed = largest_error_allowed(range.from);
      table.rows.push_back({row.log->name, std::string(range.name), std::to_string(errors.points),
                            percent(errors.mean_absolute), percent(std::abs(errors.largest)),
                            allowed > 0 ? percent(allowed) : std::string("no promise")});
    }
  }
  return table;
}

std::string collective_times_json(const std::vector<CollectiveLog>& logs, const std::vector<CollectiveRow>& rows) {
  using Json = nlohmann::ordered_json;
  Json document{{"schema", "underlap.collective_times/1"}, {"rows", Json::array()}, {"fits", fits_json(logs)}};
  for (const CollectiveRow& row : rows)
    document["rows"].push_back({{"log", row.log->name},
                                {"hardware", row.log->hardware},
                                {"collective", to_string(row.log->collective)},
                                {"ranks", row.log->ranks},
                                {"nodes", row.log->nodes},
                                {"bytes", row.point.bytes},
                                {"measured_us", row.point.time_us},
                                {"reading_error", row.point.reading_error},
                                {"use", kUses[row.point.use]},
                                {"algorithm", row.algorithm},
                                {"model_us", row.model_us},
                                {"error", row.error()},
                                {"nccl_model_us", row.tuner_us}});
  return json_text(document, 1) + "\n";
}

std::string collective_times_markdown(const std::vector<CollectiveLog>& logs, const std::vector<CollectiveRow>& rows) {
  std::string sources;
  for (const CollectiveLog& log : logs) sources += fmt::format("- {} ({}): {}\n", log.name, log.hardware, log.source);
  return fmt::format(
      "# Collective times compared with published logs\n\nEvery point of results/collectives/logs.yaml, compared with "
      "its simulated time. Underlap measured nothing here.\n\n{}\nOf each log, the first, third, fifth ... point is "
      "fitted and the others are held out. A point is in neither half if its plot is less accurate than 20 %, or if "
      "its log has only two digits. The rule was chosen after seeing the logs, and a held-out point lies between two "
      "fitted points of its own log. Its error shows how straight the log is there, not how well the rule fits another "
      "machine. A logged time is that of one operation among many enqueued back to back. It includes the launch and "
      "the synchronization between ranks, and so does the simulated time. NCCL's own model, which NCCL uses to choose "
      "the algorithm, excludes them; it is shown for comparison.\n\n## Held-out points\n\n{}\n## All points\n\n{}",
      sources, markdown(collective_errors_table(rows)), markdown(collective_times_table(rows)));
}

}  // namespace underlap::bench
