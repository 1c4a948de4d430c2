// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/dp_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

namespace underlap::analysis {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::int64_t compute_of(const DpStep& s) { return sum(s.forward_ns) + sum(s.backward_ns) + s.optimizer_ns; }

// The schedule played nanosecond by nanosecond: a compute stream that obeys a list of things to do, and communication
// streams that take what was dispatched to them in turn.
class Simulation {
 public:
  explicit Simulation(const DpStep& step) : gathers_(step.gather_ns.size()), reduces_(step.reduce_ns.size()) {
    if (step.overlap_param_gather)
      gather_ahead(step);
    else
      gather_at_once(step);
    backward(step);
    for (std::size_t i = 0; i < reduces_; ++i) todo_.push_back({.wait_for = gathers_ + i});
    todo_.push_back({.compute_ns = step.optimizer_ns});
    gather_stream_ = step.separate_gather_communicator ? 1 : 0;
    done_.assign(gathers_ + reduces_, false);
  }

  std::int64_t run() {
    std::int64_t now = 0;
    while (true) {
      while (settle()) {
      }
      if (todo_.empty()) return now;
      ++now;
      if (todo_.front().compute_ns > 0 && !todo_.front().wait_for) --todo_.front().compute_ns;
      for (auto& queue : queues_)
        if (!queue.empty()) --queue.front().remaining_ns;
    }
  }

 private:
  struct Transfer {
    std::size_t id;
    std::int64_t remaining_ns;
  };
  struct Todo {
    std::optional<Transfer> dispatch = std::nullopt;
    std::optional<std::size_t> wait_for = std::nullopt;
    std::int64_t compute_ns = 0;
  };

  void dispatch(std::size_t id, std::int64_t ns) { todo_.push_back({.dispatch = Transfer{id, ns}}); }

  void gather_ahead(const DpStep& step) {
    std::vector<bool> sent(gathers_, false);
    const auto send = [&](std::size_t i) {
      if (i < gathers_ && !sent[i]) dispatch(i, step.gather_ns[i]);
      if (i < gathers_) sent[i] = true;
    };
    for (std::size_t i = 0; i < gathers_; ++i) {
      send(i);
      todo_.push_back({.wait_for = i});
      for (std::int32_t ahead = 1; ahead <= step.prefetch_depth; ++ahead) send(i + static_cast<std::size_t>(ahead));
      todo_.push_back({.compute_ns = step.forward_ns[i]});
    }
  }

  void gather_at_once(const DpStep& step) {
    for (std::size_t i = 0; i < gathers_; ++i) dispatch(i, step.gather_ns[i]);
    for (std::size_t i = 0; i < gathers_; ++i) todo_.push_back({.wait_for = i});
    todo_.push_back({.compute_ns = sum(step.forward_ns)});
  }

  void backward(const DpStep& step) {
    for (std::size_t i = 0; i < reduces_; ++i) {
      todo_.push_back({.compute_ns = step.backward_ns[i]});
      if (step.overlap_grad_reduce) dispatch(gathers_ + i, step.reduce_ns[i]);
    }
    for (std::size_t i = 0; !step.overlap_grad_reduce && i < reduces_; ++i) dispatch(gathers_ + i, step.reduce_ns[i]);
  }

  // Does all that takes no time; returns whether there was anything.
  bool settle() {
    for (auto& queue : queues_)
      if (!queue.empty() && queue.front().remaining_ns <= 0) {
        done_[queue.front().id] = true;
        queue.pop_front();
        return true;
      }
    if (todo_.empty()) return false;
    const Todo& next = todo_.front();
    if (next.dispatch) queues_[next.dispatch->id < gathers_ ? gather_stream_ : 0].push_back(*next.dispatch);
    const bool blocked = next.wait_for && !done_[*next.wait_for];
    if (blocked || next.compute_ns > 0) return false;
    todo_.pop_front();
    return true;
  }

  std::size_t gathers_, reduces_, gather_stream_ = 0;
  std::deque<Todo> todo_;
  std::deque<Transfer> queues_[2];
  std::vector<bool> done_;
};

TEST(DpBound, AgreesWithASimulationOfTheSchedule) {
  std::mt19937 random(2);
  const auto upto = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random); };
  for (int round = 0; round < 3000; ++round) {
    DpStep step;
    const auto durations = [&](std::int64_t count) {
      std::vector<std::int64_t> values(static_cast<std::size_t>(count));
      for (std::int64_t& value : values) value = upto(12);
      return values;
    };
    const std::int64_t forward = upto(5);
    const std::int64_t backward = upto(5);
    step.forward_ns = durations(forward);
    step.gather_ns = durations(forward);
    step.backward_ns = durations(backward);
    step.reduce_ns = durations(backward);
    step.optimizer_ns = upto(6);
    step.overlap_param_gather = upto(2) > 0;
    step.overlap_grad_reduce = upto(2) > 0;
    step.prefetch_depth = static_cast<std::int32_t>(upto(3));
    step.separate_gather_communicator = upto(1) > 0;
    const DpBound bound = dp_bound(step);
    ASSERT_EQ(bound.step_ns, Simulation(step).run()) << "round " << round;
    ASSERT_EQ(bound.exposed_ns, bound.step_ns - compute_of(step));
  }
}

DpStep four_buckets() {
  return {.forward_ns = {100, 100, 100, 100},
          .gather_ns = {30, 40, 50, 60},
          .backward_ns = {200, 200, 200, 200},
          .reduce_ns = {70, 80, 90, 110},
          .optimizer_ns = 10,
          .overlap_param_gather = true,
          .overlap_grad_reduce = true};
}

TEST(DpBound, ExposesTheFirstGatherAndTheLastReduceWhereTheRestIsShort) {
  const DpBound bound = dp_bound(four_buckets());
  EXPECT_EQ(bound.exposed_ns, 30 + 110);
  EXPECT_EQ(bound.step_ns, 400 + 800 + 10 + 140);
}

TEST(DpBound, ExposesWhatAGatherIsLongerThanTheForwardBeforeIt) {
  DpStep step = four_buckets();
  step.gather_ns[2] = 125;
  EXPECT_EQ(dp_bound(step).exposed_ns, 30 + 25 + 110);
}

// Gathers 2 and 3 queue up behind gather 1 while forward 0 runs: 40 + 125 - 200 is hidden, and so is 60 beside
// forward 2.
TEST(DpBound, AGreaterDepthHidesALongGatherUnderMoreForward) {
  DpStep step = four_buckets();
  step.gather_ns[2] = 125;
  step.prefetch_depth = 2;
  EXPECT_EQ(dp_bound(step).exposed_ns, 30 + 110);
}

// Reduce 0 runs from 200 to 460, reduce 1 to 540, reduce 2 to 630, reduce 3 waits for backward until 800.
TEST(DpBound, ALongReduceIsExposedOnlyWhereItDelaysTheLast) {
  DpStep step = four_buckets();
  step.reduce_ns[0] = 260;
  EXPECT_EQ(dp_bound(step).exposed_ns, 30 + 110);
  step.reduce_ns[2] = 300;  // 600 to 900: the last begins 100 late
  EXPECT_EQ(dp_bound(step).exposed_ns, 30 + 100 + 110);
}

TEST(DpBound, WithoutOverlapEverythingIsExposed) {
  DpStep step = four_buckets();
  step.overlap_param_gather = false;
  EXPECT_EQ(dp_bound(step).exposed_ns, (30 + 40 + 50 + 60) + 110);
  step.overlap_grad_reduce = false;
  EXPECT_EQ(dp_bound(step).exposed_ns, (30 + 40 + 50 + 60) + (70 + 80 + 90 + 110));
}

TEST(DpBound, DepthZeroExposesEveryGather) {
  DpStep step = four_buckets();
  step.prefetch_depth = 0;
  EXPECT_EQ(dp_bound(step).exposed_ns, (30 + 40 + 50 + 60) + 110);
}

TEST(DpBound, RefusesListsThatDoNotMatchAndNegativeNumbers) {
  const auto refuses = [](const std::function<void(DpStep&)>& spoil) {
    DpStep step = four_buckets();
    spoil(step);
    EXPECT_THROW(dp_bound(step), std::invalid_argument);
  };
  refuses([](DpStep& s) { s.forward_ns.pop_back(); });
  refuses([](DpStep& s) { s.reduce_ns.pop_back(); });
  refuses([](DpStep& s) { s.gather_ns[1] = -1; });
  refuses([](DpStep& s) { s.optimizer_ns = -1; });
  refuses([](DpStep& s) { s.prefetch_depth = -1; });
}

}  // namespace
}  // namespace underlap::analysis
