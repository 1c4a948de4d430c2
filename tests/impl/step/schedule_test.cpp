// SPDX-License-Identifier: Apache-2.0
// The bound of the recorded schedule of a step against the closed form of a data-parallel step.
#include <numeric>

#include "impl/device/makespan.hpp"
#include "impl/step/record_programs.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap {
namespace {

using Type = ProgramCommand::Type;

// Compute takes a nanosecond a byte that it moves, the wire `ns_per_byte` for each byte sent.
std::int64_t duration(const Transfer& t, std::int32_t group_size, double ns_per_byte) {
  return static_cast<std::int64_t>(ns_per_byte * static_cast<double>(bytes_on_wire(t, group_size)));
}

std::int64_t duration(const Program& program, const ProgramCommand& command, double ns_per_byte) {
  const Cost cost = program.cost(command);
  std::int64_t ns = command.bytes + cost.bytes_read + cost.bytes_written;
  for (const Transfer& t : program.transfers(command)) ns += duration(t, program.group_size(command), ns_per_byte);
  return ns;
}

std::int64_t sum(const std::vector<std::int64_t>& ns) { return std::accumulate(ns.begin(), ns.end(), std::int64_t{}); }

// One data-parallel step as durations alone, in nanoseconds, from the end of the optimizer on: nothing is in flight
// then, and no bucket is gathered.
struct DpStep {
  std::vector<std::int64_t> forward_ns;   // compute from the first touch of bucket i to that of the next
  std::vector<std::int64_t> gather_ns;    // in the order of first touch
  std::vector<std::int64_t> backward_ns;  // compute until the gradients of bucket i are complete, from those of i-1 on
  std::vector<std::int64_t> reduce_ns;    // in the order of completion
  std::int64_t optimizer_ns = 0;

  std::int64_t compute_ns() const { return sum(forward_ns) + sum(backward_ns) + optimizer_ns; }
};

// The step as a recurrence over buckets. Gathers end before backward begins and so never stand behind a reduce, whether
// they have a communicator of their own or not.
std::int64_t closed_form(const DpStep& step, const plan::Config& config) {
  const std::size_t buckets = step.gather_ns.size();
  std::int64_t now = 0;
  if (!config.ddp.overlap_param_gather) {
    now = sum(step.gather_ns) + sum(step.forward_ns);
  } else {
    std::vector<std::int64_t> gathered;
    const auto dispatch_until = [&](std::size_t count) {
      while (gathered.size() < std::min(count, buckets))
        gathered.push_back(std::max(gathered.empty() ? 0 : gathered.back(), now) + step.gather_ns[gathered.size()]);
    };
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      dispatch_until(bucket + 1);
      now = std::max(now, gathered[bucket]);
      dispatch_until(bucket + 1 + static_cast<std::size_t>(config.extensions.param_gather_prefetch));
      now += step.forward_ns[bucket];
    }
  }
  if (!config.ddp.overlap_grad_reduce) return now + sum(step.backward_ns) + sum(step.reduce_ns) + step.optimizer_ns;
  std::int64_t reduced = now;
  for (std::size_t bucket = 0; bucket < step.reduce_ns.size(); ++bucket) {
    now += step.backward_ns[bucket];
    reduced = std::max(reduced, now) + step.reduce_ns[bucket];
  }
  return reduced + step.optimizer_ns;
}

// Cuts the compute stream where it waits for a gather and where a reduce is sent.
DpStep segments(const Program& program, double ns_per_byte) {
  DpStep step;
  std::int64_t since_cut = 0;
  std::int64_t before_first_touch = 0;
  bool is_backward = false;
  for (const ProgramCommand& command : program.commands) {
    const bool on_compute = command.stream == 0;
    if (command.type == Type::communicate) {
      const bool is_gather = command.tag.direction == Direction::forward;
      for (const Transfer& t : program.transfers(command))
        (is_gather ? step.gather_ns : step.reduce_ns).push_back(duration(t, program.group_size(command), ns_per_byte));
      if (!is_gather) step.backward_ns.push_back(std::exchange(since_cut, 0));
    } else if (on_compute && (command.type == Type::wait || command.type == Type::throttle) && !is_backward) {
      const std::int64_t segment = std::exchange(since_cut, 0);
      step.forward_ns.empty() && before_first_touch == 0 ? void(before_first_touch = segment)
                                                         : step.forward_ns.push_back(segment);
    } else if (on_compute && (command.type == Type::launch || command.type == Type::upload)) {
      if (command.tag.direction == Direction::backward && !is_backward) {
        is_backward = true;
        step.forward_ns.push_back(std::exchange(since_cut, 0));
      }
      since_cut += duration(program, command, ns_per_byte);
    }
  }
  step.optimizer_ns = since_cut + before_first_touch;
  step.backward_ns.resize(step.reduce_ns.size());
  step.forward_ns.resize(step.gather_ns.size());
  return step;
}

// The buckets of a step's gathers, and what the compute stream first does after each wait for one.
std::vector<std::string> gathers_and_first_uses(const Program& program) {
  std::vector<std::string> events;
  bool has_waited = false;
  for (const ProgramCommand& command : program.commands) {
    if (command.tag.direction == Direction::backward) break;
    if (command.type == Type::communicate) events.push_back("gather " + std::to_string(command.tag.bucket));
    if (command.stream == 0 && command.type == Type::wait) has_waited = true;
    if (command.stream == 0 && command.type == Type::launch && std::exchange(has_waited, false))
      events.emplace_back(name_of(command.tag.purpose));
  }
  return events;
}

TEST(GatherOrder, FollowsTheForwardPassFromTheTiedEmbeddingOn) {
  plan::Config config = testing_support::small_config(2);
  config.model.num_layers = 1;
  config.model.share_embeddings_and_output_weights = true;
  config.ddp.overlap_param_gather = true;
  config.ddp.bucket_size = 12'000;
  const std::vector<std::string> events = gathers_and_first_uses(record_step(config));
  EXPECT_THAT(events, ElementsAre("gather 1", "gather 0", "embedding_fprop", "qkv_fprop"))
      << "bucket 1 reaches from the tied embedding to proj, 0 holds the rest";
}

struct ScheduleCase {
  bool grads;
  bool params;
  std::int32_t depth;
  bool separate = false;  // a communicator of their own for the gathers
};
class Schedule : public testing::TestWithParam<ScheduleCase> {};
INSTANTIATE_TEST_SUITE_P(Overlaps, Schedule,
                         testing::Values(ScheduleCase{false, false, 1}, ScheduleCase{true, false, 1},
                                         ScheduleCase{false, true, 1}, ScheduleCase{true, true, 1},
                                         ScheduleCase{true, true, 2}, ScheduleCase{true, true, 5},
                                         ScheduleCase{true, true, 1, true}, ScheduleCase{true, true, 3, true},
                                         ScheduleCase{false, true, 1, true}, ScheduleCase{true, false, 1, true}));

// What a command takes where a rank has one link.
CommandTime time_of(const Program& program, const ProgramCommand& command, double ns_per_byte) {
  const std::int64_t ns = duration(program, command, ns_per_byte);
  if (command.type == Type::communicate) return {.alone_ns = ns, .links = {{{.send_ns = ns, .receive_ns = ns}}}};
  return {.alone_ns = ns, .device_ns = ns};
}

TEST_P(Schedule, BoundIsTheClosedForm) {
  plan::Config config = testing_support::small_config(2);
  config.ddp.overlap_grad_reduce = GetParam().grads;
  config.ddp.overlap_param_gather = GetParam().params;
  config.ddp.bucket_size = 4000;
  config.extensions.param_gather_prefetch = GetParam().depth;
  config.extensions.separate_gather_communicator = GetParam().separate;
  const Program program = record_step(config);
  for (const double ns_per_byte : {0.0, 0.5, 2.0, 10.0, 100.0}) {
    const StepBounds bounds = step_bounds(
        {&program, 1}, [&](std::size_t, const ProgramCommand& c) { return time_of(program, c, ns_per_byte); });
    const DpStep step = segments(program, ns_per_byte);
    EXPECT_EQ(bounds.schedule_ns, closed_form(step, config)) << ns_per_byte << " ns a byte";
    EXPECT_LE(bounds.ideal_ns, bounds.schedule_ns);
    EXPECT_EQ(bounds.ideal_ns, std::max(step.compute_ns(), sum(step.gather_ns) + sum(step.reduce_ns)));
  }
}

}  // namespace
}  // namespace underlap
