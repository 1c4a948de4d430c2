// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/device/sim/hardware.hpp"
#include "platform/table.hpp"

// How well the collective times of hardware descriptions agree with published logs of nccl-tests, and how their
// segments follow from those logs: results/collectives/logs.yaml.
namespace underlap::bench {

/// What a point of a log is used for.
enum class PointUse : std::uint8_t {
  fitted,    ///< the first, third, fifth ... of the log
  held_out,  ///< the others
  unread,    ///< read to worse than a fifth of it, or given twice: in the report, in no fit and no verdict
};

struct LogPoint {
  std::int64_t bytes = 0;
  double time_us = 0;
  double reading_error = 0;      ///< as a fraction of the point; 0 where the log is a table
  bool has_two_figures = false;  ///< the log gives two; time_us is that of their mean
  PointUse use = PointUse::fitted;
};

/// One published log of one collective on one group.
struct CollectiveLog {
  std::string name;
  std::string hardware;  ///< name of the description that it is held against
  Collective collective = Collective::all_reduce;
  std::int32_t ranks = 0;
  std::int32_t nodes = 1;
  std::string source;
  std::string below;             ///< name of the log whose points serve below this one's smallest; empty: none
  std::vector<LogPoint> points;  ///< ascending in bytes
};

/// The segments that follow from a log's fitted points, by algorithm.
///
/// NCCL's tuner says which algorithm ran at a point. Between two fitted points of one algorithm a segment is the line
/// through them; below the first one the tuner's bandwidth continues. Where points are more than 32 times apart, and
/// above the last point of an algorithm that NCCL leaves within the log, the tuner's times stand, shifted to meet the
/// points. A line that would begin below zero goes through its upper point and zero instead.
struct FittedTimes {
  sim::nccl::Algorithm algorithm = sim::nccl::Algorithm::ring;
  std::vector<sim::Segment> segments;
};

/// One point against the model that the virtual-time backend uses.
struct CollectiveRow {
  const CollectiveLog* log = nullptr;
  LogPoint point;
  std::string algorithm;  ///< "nvls/simple", as the tuner chooses
  double model_us = 0;
  double tuner_us = 0;  ///< what NCCL's own model says, without launch and synchronisation

  double error() const { return model_us / point.time_us - 1; }
};

/// Throws std::invalid_argument with every error, a line each: `where`:line:column: what is wrong.
std::vector<CollectiveLog> parse_collective_logs(const std::string& yaml, const std::string& where);

/// The segments of one of `logs`. Throws std::invalid_argument for hardware that is not known.
std::vector<FittedTimes> fit_collective_times(const CollectiveLog& log, const std::vector<CollectiveLog>& logs);

/// Every point of every log against its hardware description. Rows point into `logs`.
std::vector<CollectiveRow> compare_collective_times(const std::vector<CollectiveLog>& logs);

/// What a held-out point of that size may be off by, as a fraction; 0 below 1 MB, where nothing is promised.
double largest_error_allowed(std::int64_t bytes);

Table collective_times_table(const std::vector<CollectiveRow>& rows);

/// Held-out errors by log and range of sizes.
Table collective_errors_table(const std::vector<CollectiveRow>& rows);

/// Rows and fitted segments, schema underlap.collective_times/1.
std::string collective_times_json(const std::vector<CollectiveLog>& logs, const std::vector<CollectiveRow>& rows);

std::string collective_times_markdown(const std::vector<CollectiveLog>& logs, const std::vector<CollectiveRow>& rows);

}  // namespace underlap::bench
