// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bench/studies/collective_times.hpp"
#include "impl/device/sim/transfer_model.hpp"
#include "impl/device/sim/yaml_section.hpp"

namespace underlap::bench {
namespace {

using sim::kNotNegative;
using sim::kPositive;
using sim::Section;

constexpr std::string_view kStudy = "collective_times";
constexpr double kLargestReadingError = 0.2;
constexpr sim::Range kBytes{.low = 1, .high = 1e15, .whole = true};
constexpr sim::Range kRanks{.low = 1, .high = 1 << 20, .whole = true};

class LogReader {
 public:
  explicit LogReader(yaml::Problems& problems) : problems_(problems) {}

  std::vector<CollectiveLog> read(const yaml::Node& root) {
    Section section(root, "the study", problems_);
    if (const auto* node = section.get("study"); node != nullptr && node->text != kStudy)
      problems_.add(node->place, fmt::format("study is {}, must be {}", yaml::describe(*node), kStudy));
    std::vector<CollectiveLog> logs;
    if (const auto* node = section.get("logs"))
      for (const yaml::Node* item : sim::read_list(*node, "logs", problems_)) logs.push_back(read_log(*item));
    section.finish();
    check_names(root, logs);
    return logs;
  }

 private:
  std::string text(Section& section, std::string_view key) {
    const auto* node = section.get(key);
    return node == nullptr ? "" : sim::read_text(*node, key, problems_).value_or("");
  }

  double number(const yaml::Node* node, std::string_view key, const sim::Range& range) {
    return node == nullptr ? 1 : sim::read_number(*node, key, range, problems_).value_or(1);
  }

  Collective collective(Section& section) {
    const auto* node = section.get("collective");
    const auto found = node == nullptr ? std::nullopt : collective_from(node->text);
    const bool chosen =
        found && *found != Collective::send && *found != Collective::receive && *found != Collective::all_to_all;
    if (node != nullptr && !chosen)
      problems_.add(node->place,
                    fmt::format("{} is no collective whose algorithm NCCL chooses", yaml::describe(*node)));
    return chosen ? *found : Collective::all_reduce;
  }

  CollectiveLog read_log(const yaml::Node& node) {
    Section section(node, "a log", problems_);
    CollectiveLog log{.name = text(section, "name"),
                      .hardware = text(section, "hardware"),
                      .collective = collective(section),
                      .ranks = static_cast<std::int32_t>(
                          number(section.get("ranks"), "ranks", {.low = 2, .high = 1 << 20, .whole = true})),
                      .nodes = static_cast<std::int32_t>(number(section.get("nodes"), "nodes", kRanks)),
                      .source = text(section, "source"),
                      .below = "",
                      .points = {}};
    if (const auto* below = section.find("below")) log.below = sim::read_text(*below, "below", problems_).value_or("");
    const auto* error = section.find("reading_error_gb_per_s");
    const double reading_error = error == nullptr ? 0 : number(error, "reading_error_gb_per_s", kNotNegative);
    if (const auto* points = section.get("points"))
      for (const yaml::Node* item : sim::read_list(*points, "points", problems_)) add_point(log, *item, reading_error);
    section.finish();
    check_hardware(node, log);
    assign_uses(log);
    return log;
  }

  void add_point(CollectiveLog& log, const yaml::Node& node, double reading_error) {
    Section section(node, "a point", problems_);
    LogPoint point;
    point.bytes = static_cast<std::int64_t>(number(section.get("bytes"), "bytes", kBytes));
    const auto* time = section.find("time_us");
    const auto* busbw = section.find("busbw_gb_per_s");
    const auto* other = section.find("other_busbw_gb_per_s");
    section.finish();
    if ((time == nullptr) == (busbw == nullptr))
      problems_.add(node.place, "a point has either time_us or busbw_gb_per_s");
    if (!log.points.empty() && point.bytes <= log.points.back().bytes)
      problems_.add(node.place, fmt::format("bytes must ascend; {} follows {}", point.bytes, log.points.back().bytes));
    if (time != nullptr) point.time_us = number(time, "time_us", kPositive);
    if (busbw != nullptr) {
      double rate = number(busbw, "busbw_gb_per_s", kPositive);
      double error = reading_error;
      if (other != nullptr) {
        const double other_rate = number(other, "other_busbw_gb_per_s", kPositive);
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

  void check_hardware(const yaml::Node& node, const CollectiveLog& log) {
    const auto known = sim::hardware_names();
    if (std::find(known.begin(), known.end(), log.hardware) == known.end())
      problems_.add(node.place,
                    fmt::format("hardware {} is none of {}", yaml::in_quotes(log.hardware), fmt::join(known, ", ")));
    if (log.ranks % log.nodes != 0)
      problems_.add(node.place, fmt::format("{} ranks do not spread evenly over {} nodes", log.ranks, log.nodes));
  }

  void check_names(const yaml::Node& root, const std::vector<CollectiveLog>& logs) {
    for (const CollectiveLog& log : logs) {
      const auto same_name = [&log](const CollectiveLog& other) { return other.name == log.name; };
      if (std::count_if(logs.begin(), logs.end(), same_name) > 1)
        problems_.add(root.place, fmt::format("log {} stands twice", yaml::in_quotes(log.name)));
      const auto is_below = [&log](const CollectiveLog& other) { return other.name == log.below && &other != &log; };
      if (!log.below.empty() && std::none_of(logs.begin(), logs.end(), is_below))
        problems_.add(root.place, fmt::format("below of log {} is {}, which is no other log", yaml::in_quotes(log.name),
                                              yaml::in_quotes(log.below)));
    }
  }

  yaml::Problems& problems_;
};

}  // namespace

std::vector<CollectiveLog> parse_collective_logs(const std::string& yaml, const std::string& where) {
  yaml::Problems problems(where, {});
  const yaml::Document document = yaml::read_document(yaml, problems);
  std::vector<CollectiveLog> logs;
  if (document.root != nullptr) logs = LogReader(problems).read(*document.root);
  if (problems.empty()) return logs;
  std::vector<std::string> lines;
  for (const yaml::Message& message : problems.messages())
    lines.push_back(fmt::format("{}: {}", message.where, message.message));
  throw std::invalid_argument(fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace underlap::bench
