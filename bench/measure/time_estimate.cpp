// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/time_estimate.hpp"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <thread>
#include <tuple>
#include <vector>

#include "bench/ranks/host_room.hpp"
#include "impl/step/record_programs.hpp"

namespace underlap::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Memory of zeros for each view of an operation.
class Zeros {
 public:
  explicit Zeros(const Operation& operation) {
    for (const Use& use : operation.uses()) {
      const View& view = use.view;
      const std::int64_t elements = view.rows == 0 ? 0 : (view.rows - 1) * view.leading_dimension + view.cols;
      buffers_.emplace_back(static_cast<std::size_t>(elements * size_of(view.tensor.dtype)));
      bound_.push_back({buffers_.back().data(), view.tensor.dtype, view.rows, view.cols, view.leading_dimension});
    }
  }

  void run(const Operation& operation) { operation.cpu()(Arguments(bound_, operation.parameters())); }

 private:
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<BoundView> bound_;
};

// The second of two: a library chooses and compiles at the first.
double seconds_of(const Operation& operation) {
  Zeros zeros(operation);
  zeros.run(operation);
  const Clock::time_point begin = Clock::now();
  zeros.run(operation);
  return seconds_since(begin);
}

using OperationKind = std::tuple<NameId, double, std::int64_t>;

OperationKind kind_of(const Operation& operation) {
  const Cost& cost = operation.cost();
  return {operation.name(), cost.flops, cost.bytes_read + cost.bytes_written};
}

// What two operations are compared by: a product by what it multiplies, all others by what they move.
double weight_of(const Operation& operation) {
  const Cost& cost = operation.cost();
  return std::max(cost.flops / 50, double(cost.bytes_read + cost.bytes_written));
}

double compute_seconds(const Program& step, std::chrono::nanoseconds budget) {
  const Clock::time_point begin = Clock::now();
  std::map<OperationKind, double> known;
  double seconds = 0, run_weight = 0, left_weight = 0;
  for (const Operation& operation : step.operations) {
    auto found = known.find(kind_of(operation));
    if (found == known.end() && Clock::now() - begin < budget)
      found = known.emplace(kind_of(operation), seconds_of(operation)).first;
    if (found == known.end()) {
      left_weight += weight_of(operation);
      continue;
    }
    seconds += found->second;
    run_weight += weight_of(operation);
  }
  return run_weight > 0 ? seconds * (1 + left_weight / run_weight) : seconds;
}

double wire_seconds(const Program& step, const plan::RunConfig& run) {
  if (run.link_gbps <= 0) return 0;
  double bytes = 0;
  for (const ProgramCommand& command : step.commands)
    for (const Transfer& transfer : step.transfers(command))
      bytes += double(bytes_on_wire(transfer, step.group_size(command)));
  return bytes * 8 / (run.link_gbps * 1e9);
}

}  // namespace

double host_step_seconds(const plan::Config& config, std::chrono::nanoseconds budget) {
  const Program step = record_step(config, Detail::operations);
  const int threads = compute_threads(config), before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const double compute = compute_seconds(step, budget);
  omp_set_num_threads(before);
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const double sharing = std::max(1.0, config.parallel.world_size() * threads / cores);
  return std::max(compute * sharing, wire_seconds(step, config.run));
}

RecordingCost recording_cost(const plan::Config& config) {
  record_step(config, Detail::costs);  // names are interned and text is read at the first
  const Clock::time_point begin = Clock::now();
  const Program step = record_step(config, Detail::uses);
  return {seconds_since(begin), step.bytes()};
}

}  // namespace underlap::bench
