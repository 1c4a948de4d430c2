// SPDX-License-Identifier: Apache-2.0
#include "research/studies/collective_times.hpp"

#include <map>

#include "impl/device/sim/transfer_model.hpp"

namespace underlap::bench {
namespace {

constexpr double kFarApart = 32;

struct Knot {
  std::int64_t bytes;
  double time_us;
};

/// The tuner's view of the group of a log.
class Tuner {
 public:
  explicit Tuner(const CollectiveLog& log)
      : hardware_(sim::load_hardware(log.hardware)), collective_(log.collective), group_{log.ranks, log.nodes} {}

  sim::nccl::Algorithm chosen(std::int64_t bytes) const {
    return sim::nccl::choose(sim::nccl::machine_of(hardware_), collective_, group_, bytes).algorithm;
  }
  sim::nccl::Estimate expects(sim::nccl::Algorithm algorithm, std::int64_t bytes) const {
    const auto machine = sim::nccl::machine_of(hardware_);
    return sim::nccl::choose_protocol(machine, collective_, group_, bytes, algorithm)->estimate;
  }
  double time_us(sim::nccl::Algorithm algorithm, std::int64_t bytes) const {
    return expects(algorithm, bytes).time_us(bytes);
  }
  const sim::Hardware& hardware() const { return hardware_; }

 private:
  sim::Hardware hardware_;
  Collective collective_;
  sim::nccl::Group group_;
};

// The log's fitted points, and below its smallest those of the log that it names.
std::vector<Knot> fitted_points(const CollectiveLog& log, const std::vector<CollectiveLog>& logs) {
  std::vector<Knot> points;
  const auto below = std::ranges::find_if(logs, [&](const auto& other) { return other.name == log.below; });
  if (below != logs.end())
    for (const LogPoint& point : below->points)
      if (point.use == PointUse::fitted && point.bytes < log.points.front().bytes)
        points.push_back({point.bytes, point.time_us});
  for (const LogPoint& point : log.points)
    if (point.use == PointUse::fitted) points.push_back({point.bytes, point.time_us});
  return points;
}

/// Builds the knots and the segments of one algorithm.
class Fit {
 public:
  Fit(const Tuner& tuner, const CollectiveLog& log, sim::nccl::Algorithm algorithm)
      : tuner_(tuner), algorithm_(algorithm), bus_factor_(sim::bus_factor(log.collective, log.ranks)) {}

  void add_point(const Knot& point) {
    if (!knots_.empty()) fill(knots_.back(), point);
    knots_.push_back(point);
  }

  // The tuner's times up to `end`, shifted to meet the last point.
  void continue_to(std::int64_t end) {
    const double shift = above_tuner(knots_.back());
    while (knots_.back().bytes < end) {
      const auto next = std::min(knots_.back().bytes * static_cast<std::int64_t>(kFarApart), end);
      knots_.push_back({next, tuner_.time_us(algorithm_, next) + shift});
    }
  }

  FittedTimes finish() const {
    FittedTimes out{algorithm_, {}};
    const Knot& first = knots_.front();
    const double algbw = tuner_.expects(algorithm_, first.bytes).algbw_gb_per_s;
    out.segments.push_back(through(first, algbw));
    for (std::size_t i = 1; i < knots_.size(); ++i) {
      const double rise_us = knots_[i].time_us - knots_[i - 1].time_us;
      const auto bytes = static_cast<double>(knots_[i].bytes - knots_[i - 1].bytes);
      out.segments.push_back(through(knots_[i], bytes / rise_us / 1000));
    }
    return out;
  }

 private:
  double above_tuner(const Knot& knot) const { return knot.time_us - tuner_.time_us(algorithm_, knot.bytes); }

  // Knots between two points that are far apart: the tuner's times with a shift that passes from the one's to the
  // other's.
  void fill(Knot from, const Knot& to) {
    const double first = above_tuner(from), last = above_tuner(to);
    const auto span = static_cast<double>(to.bytes - from.bytes);
    for (std::int64_t bytes = from.bytes * static_cast<std::int64_t>(kFarApart); bytes < to.bytes;
         bytes *= static_cast<std::int64_t>(kFarApart)) {
      const double shift = first + (last - first) * static_cast<double>(bytes - from.bytes) / span;
      knots_.push_back({bytes, tuner_.time_us(algorithm_, bytes) + shift});
    }
  }

  // The segment that ends in `knot` with that bandwidth.
  sim::Segment through(const Knot& knot, double algbw_gb_per_s) const {
    const auto bytes = static_cast<double>(knot.bytes);
    const double latency_us = knot.time_us - bytes / (1000 * algbw_gb_per_s);
    if (latency_us < 0) return {knot.bytes, 0, bytes / knot.time_us / 1000 * bus_factor_};
    return {knot.bytes, latency_us, algbw_gb_per_s * bus_factor_};
  }

  const Tuner& tuner_;
  sim::nccl::Algorithm algorithm_;
  double bus_factor_;
  std::vector<Knot> knots_;
};

}  // namespace

std::vector<FittedTimes> fit_collective_times(const CollectiveLog& log, const std::vector<CollectiveLog>& logs) {
  const Tuner tuner(log);
  const std::vector<Knot> points = fitted_points(log, logs);
  std::map<sim::nccl::Algorithm, Fit> fits;
  for (const Knot& point : points) {
    const auto algorithm = tuner.chosen(point.bytes);
    fits.try_emplace(algorithm, tuner, log, algorithm).first->second.add_point(point);
  }
  std::vector<FittedTimes> out;
  for (auto& [algorithm, fit] : fits) {
    if (algorithm != tuner.chosen(points.back().bytes)) fit.continue_to(log.points.back().bytes);
    out.push_back(fit.finish());
  }
  return out;
}

std::vector<CollectiveRow> compare_collective_times(const std::vector<CollectiveLog>& logs) {
  std::vector<CollectiveRow> rows;
  for (const CollectiveLog& log : logs) {
    const sim::Hardware hardware = sim::load_hardware(log.hardware);
    for (const LogPoint& point : log.points) {
      const auto time = sim::time_of_collective(hardware, log.collective, {log.ranks, log.nodes}, point.bytes);
      rows.push_back(
          {&log, point,
           std::string(to_string(time.choice.algorithm)) + "/" + std::string(to_string(time.choice.protocol)),
           time.time_us(point.bytes), time.choice.estimate.time_us(point.bytes)});
    }
  }
  return rows;
}

double largest_error_allowed(std::int64_t bytes) {
  if (bytes < 1'000'000) return 0;
  return bytes < 128'000'000 ? 0.20 : 0.10;
}

}  // namespace underlap::bench
