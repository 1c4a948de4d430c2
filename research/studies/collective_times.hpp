// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/device/sim/hardware.hpp"
#include "platform/table.hpp"

// Compares the collective times of hardware descriptions with published logs of nccl-tests, and derives their segments
// from those logs: results/collectives/logs.yaml.
namespace underlap::bench {

/// Use of a point of a log.
enum class PointUse : std::uint8_t {
  fitted,    ///< the first, third, fifth ... of the log
  held_out,  ///< the others
  unread,    ///< read less accurately than a fifth of it, or given twice: in the report, but in no fit and no verdict
};

struct LogPoint {
  std::int64_t bytes = 0;
  double time_us = 0;
  double reading_error = 0;      ///< as a fraction of the point; 0 if the log is a table
  bool has_two_figures = false;  ///< the log gives two; time_us is that of their mean
  PointUse use = PointUse::fitted;
};

/// One published log of one collective on one group.
struct CollectiveLog {
  std::string name;
  std::string hardware;  ///< name of the description that it is compared with
  Collective collective = Collective::all_reduce;
  std::int32_t ranks = 0;
  std::int32_t nodes = 1;
  std::string source;
  std::string below;             ///< name of the log whose points extend this one below its smallest point; empty: none
  std::vector<LogPoint> points;  ///< ascending in bytes
};

/// The segments that follow from a log's fitted points, by algorithm.
///
/// NCCL's tuner determines which algorithm ran at a point. Between two fitted points of one algorithm a segment is the
/// line through them; below the first point the tuner's bandwidth continues. The tuner's times, shifted to meet the
/// points, are used in two ranges: between points more than 32 times apart, and above the last point of an algorithm
/// that NCCL leaves within the log. A line that would start below zero goes through its upper point and zero instead.
struct FittedTimes {
  sim::nccl::Algorithm algorithm = sim::nccl::Algorithm::ring;
  std::vector<sim::Segment> segments;
};

/// One point compared with the model of the virtual-time backend.
struct CollectiveRow {
  const CollectiveLog* log = nullptr;
  LogPoint point;
  std::string algorithm;  ///< "nvls/simple", as chosen by the tuner
  double model_us = 0;
  double tuner_us = 0;  ///< according to NCCL's own model, without launch and synchronization

  double error() const { return model_us / point.time_us - 1; }
};

/// Throws std::invalid_argument with every error, one line each: `where`:line:column: the error.
std::vector<CollectiveLog> parse_collective_logs(const std::string& yaml, const std::string& where);

/// The segments of one of `logs`. Throws std::invalid_argument for unknown hardware.
std::vector<FittedTimes> fit_collective_times(const CollectiveLog& log, const std::vector<CollectiveLog>& logs);

/// Compares every point of every log with its hardware description. Rows point into `logs`.
std::vector<CollectiveRow> compare_collective_times(const std::vector<CollectiveLog>& logs);

/// Largest allowed error of a held-out point of that size, as a fraction; 0 below 1 MB, where no accuracy is claimed.
double largest_error_allowed(std::int64_t bytes);

Table collective_times_table(const std::vector<CollectiveRow>& rows);

/// Held-out errors by log and range of sizes.
Table collective_errors_table(const std::vector<CollectiveRow>& rows);

/// Rows and fitted segments, schema underlap.collective_times/1.
std::string collective_times_json(const std::vector<CollectiveLog>& logs, const std::vector<CollectiveRow>& rows);

std::string collective_times_markdown(const std::vector<CollectiveLog>& logs, const std::vector<CollectiveRow>& rows);

}  // namespace underlap::bench
