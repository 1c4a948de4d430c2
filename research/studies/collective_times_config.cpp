// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "impl/device/sim/transfer_model.hpp"
#include "research/studies/collective_times.hpp"
#include "research/studies/study_reader.hpp"

namespace underlap::bench {
namespace {

using sim::kNotNegative;
using sim::kPositive;
using sim::Section;

constexpr double kLargestReadingError = 0.2;
constexpr sim::Range kBytes{.low = 1, .high = 1e15, .whole = true};
constexpr sim::Range kRanks{.low = 1, .high = 1 << 20, .whole = true};

class LogReader {
 public:
  explicit LogReader(yaml::Problems& problems) : reader_(problems), problems_(problems) {}

  std::vector<CollectiveLog> read(const yaml::Node& root) {
    std::vector<CollectiveLog> logs;
    for (const yaml::Node* item : reader_.items(root, "collective_times", "logs")) logs.push_back(read_log(*item));
    reader_.check_names(root, "log", logs);
    check_below(root, logs);
    return logs;
  }

 private:
  Collective collective(Section& section) {
    const auto* node = section.get("collective");
    const auto found = node == nullptr ? std::nullopt : collective_from(node->text);
    const bool chosen =
        found && *found != Collective::send && *found != Collective::receive && *found != Collective::all_to_all;
    if (node != nullptr && !chosen)
      problems_.add(node->place, fmt::format("NCCL chooses no algorithm for {}", yaml::describe(*node)));
    return chosen ? *found : Collective::all_reduce;
  }

  // {name: 8xH100, hardware: h100-sxm, collective: all_reduce, ranks: 8, nodes: 1, source: ..., points: [...]}
  CollectiveLog read_log(const yaml::Node& node) {
    Section section(node, "a log", problems_);
    CollectiveLog log{.name = reader_.text(section, "name"),
                      .hardware = reader_.text(section, "hardware"),
                      .collective = collective(section),
                      .ranks = static_cast<std::int32_t>(
                          reader_.number(section.get("ranks"), "ranks", {.low = 2, .high = 1 << 20, .whole = true})),
                      .nodes = static_cast<std::int32_t>(reader_.number(section.get("nodes"), "nodes", kRanks)),
                      .source = reader_.text(section, "source"),
                      .below = "",
                      .points = {}};
    if (const auto* below = section.find("below")) log.below = sim::read_text(*below, "below", problems_).value_or("");
    const auto* error = section.find("reading_error_gb_per_s");
    const double reading_error = error == nullptr ? 0 : reader_.number(error, "reading_error_gb_per_s", kNotNegative);
    if (const auto* points = section.get("points"))
      for (const yaml::Node* item : sim::read_list(*points, "points", problems_)) add_point(log, *item, reading_error);
    section.finish();
    check_machine(node, log);
    assign_uses(log);
    return log;
  }

  // {bytes: 134217728, busbw_gb_per_s: 383}
  void add_point(CollectiveLog& log, const yaml::Node& node, double reading_error) {
    Section section(node, "a point", problems_);
    LogPoint point;
    point.bytes = static_cast<std::int64_t>(reader_.number(section.get("bytes"), "bytes", kBytes));
    const auto* time = section.find("time_us");
    const auto* busbw = section.find("busbw_gb_per_s");
    const auto* other = section.find("other_busbw_gb_per_s");
    section.finish();
    if ((time == nullptr) == (busbw == nullptr))
      problems_.add(node.place, "a point needs either time_us or busbw_gb_per_s");
    if (!log.points.empty() && point.bytes <= log.points.back().bytes)
      problems_.add(node.place, fmt::format("bytes must ascend; {} follows {}", point.bytes, log.points.back().bytes));
    if (time != nullptr) point.time_us = reader_.number(time, "time_us", kPositive);
    if (busbw != nullptr) {
      double rate = reader_.number(busbw, "busbw_gb_per_s", kPositive);
      double error = reading_error;
      if (other != nullptr) {
        const double other_rate = reader_.number(other, "other_busbw_gb_per_s", kPositive);
        error = std::abs(rate - other_rate) / 2;
        rate = (rate + other_rate) / 2;
        point.has_two_figures = true;
      }
      point.time_us = static_cast<double>(point.bytes) * sim::bus_factor(log.collective, log.ranks) / (1000 * rate);
      point.reading_error = error / rate;
    }
    log.points.push_back(point);
  }

  static void assign_uses(CollectiveLog& log) {
    std::size_t readable = 0;
    for (LogPoint& point : log.points)
      if (point.has_two_figures || point.reading_error > kLargestReadingError)
        point.use = PointUse::unread;
      else
        point.use = readable++ % 2 == 0 ? PointUse::fitted : PointUse::held_out;
  }

  void check_machine(const yaml::Node& node, const CollectiveLog& log) {
    reader_.check_hardware(node, log.hardware);
    if (log.ranks % log.nodes != 0)
      problems_.add(node.place, fmt::format("{} ranks do not spread evenly over {} nodes", log.ranks, log.nodes));
  }

  void check_below(const yaml::Node& root, const std::vector<CollectiveLog>& logs) {
    for (const CollectiveLog& log : logs) {
      const auto is_below = [&log](const CollectiveLog& other) { return other.name == log.below && &other != &log; };
      if (!log.below.empty() && std::ranges::none_of(logs, is_below))
        problems_.add(root.place, fmt::format("below of log {} is {}, which is not another log",
                                              yaml::in_quotes(log.name), yaml::in_quotes(log.below)));
    }
  }

  StudyReader reader_;
  yaml::Problems& problems_;
};

}  // namespace

std::vector<CollectiveLog> parse_collective_logs(const std::string& yaml, const std::string& where) {
  return read_study(yaml, where,
                    [](const yaml::Node& root, yaml::Problems& problems) { return LogReader(problems).read(root); });
}

}  // namespace underlap::bench
