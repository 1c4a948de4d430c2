// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/dp/technique.hpp"
#include "impl/plan/config.hpp"
#include "tests/impl/virtual_time.hpp"

namespace underlap::dp {

/// A step of a model of a few buckets, small enough to follow with a finger. Durations in nanoseconds, each alone.
struct ScheduleCase {
  std::vector<std::int64_t> sizes{1, 1, 1,
                                  1};  ///< of the buckets, in the order of the forward pass; times scale with it
  std::int64_t forward_ns = 0;         ///< of a bucket of size 1
  std::int64_t backward_ns = 0;
  std::int64_t gather_ns = 0;
  std::int64_t reduce_ns = 0;
  std::int64_t across_ns = 0;     ///< of summing the shard of a bucket of size 1 over the instances
  std::int64_t local_sum_ns = 0;  ///< of what a technique itself computes on a bucket of size 1
  std::int64_t optimizer_ns = 0;
  std::int64_t zero_ns = 0;  ///< of setting the gradients to zero, before the first microbatch
  std::int32_t num_microbatches = 1;
  std::int32_t connections = 0;
  plan::Config config;
};

/// The times of a ScheduleCase. Nothing slows anything else down.
class ScheduleTimes final : public testing_support::UnsharedTimes {
 public:
  static constexpr std::int64_t kElements = 128;  ///< parameters of a bucket of size 1

  explicit ScheduleTimes(const ScheduleCase& c) : case_(c) {}

  sim::KernelTime kernel(const Cost& cost) const override {
    using Kind = sim::KernelTime::Kind;
    if (cost.sms == kOwn) return {.kind = Kind::persistent, .alone_ns = cost.flops, .sms = 1};
    const double buckets = static_cast<double>(cost.bytes_written) / (kElements / kRanks * 4);
    return {.kind = Kind::persistent, .alone_ns = buckets * static_cast<double>(case_.local_sum_ns), .sms = 1};
  }
  sim::TransferTime transfers(std::span<const sim::TransferShape> group, std::span<const std::int32_t>,
                              const CommunicatorHints&) const override {
    sim::TransferTime time;
    for (const sim::TransferShape& shape : group) {
      const bool is_across = shape.collective == Collective::all_reduce && case_.config.ddp.use_distributed_optimizer;
      const std::int64_t bytes_of_one = kElements * size_of(shape.dtype) / (is_across ? kRanks : 1);
      time.alone_ns += static_cast<double>(shape.bytes / bytes_of_one * duration_ns(shape.collective, is_across));
    }
    return time;
  }

  static constexpr int kOwn = 1;             ///< marks an operation of the model, whose flops are its nanoseconds
  static constexpr std::int64_t kRanks = 2;  ///< of an optimizer instance

 private:
  std::int64_t duration_ns(Collective collective, bool is_across) const {
    if (is_across) return case_.across_ns;
    return collective == Collective::all_gather ? case_.gather_ns : case_.reduce_ns;
  }

  const ScheduleCase& case_;
};

/// Two steps of two ranks, or two of each optimizer instance; the first settles.
class VirtualSchedule {
 public:
  explicit VirtualSchedule(const ScheduleCase& c) : case_(c) {}

  /// `edit` may change each rank's program before it is played.
  Trace play(const std::function<void(Program&)>& edit = {}) const {
    std::vector<Program> programs;
    for (std::int32_t r = 0; r < ScheduleTimes::kRanks * num_instances(); ++r) {
      programs.push_back(record(r));
      if (edit) edit(programs.back());
    }
    return testing_support::play(std::move(programs), ScheduleTimes(case_), case_.connections);
  }

  /// What rank `r` tells its device.
  Program record(std::int32_t r) const {
    RecordingDevice device;
    Buffers buffers;
    for (const std::int64_t size : case_.sizes)
      buffers.parameters.push_back({.name = "p", .rows = 1, .cols = size * ScheduleTimes::kElements});
    buffers.layout = lay_out(buffers.parameters, {.bucket_size = 1, .num_shards = ScheduleTimes::kRanks});
    buffers.group = {.members = {r - r % 2, r - r % 2 + 1}, .my_index = r % 2};
    buffers.is_sharded = case_.config.ddp.use_distributed_optimizer;
    buffers.params = device.allocate("params", DataType::bf16, buffers.layout.elements);
    buffers.grads = device.allocate("grads", DataType::f32, buffers.layout.elements);
    Context context;
    context.device = &device;
    context.buffers = &buffers;
    context.config = &case_.config;
    context.compute = device.create_stream("compute");
    context.reduce = device.declare("dp", buffers.group);
    context.gather = case_.config.extensions.separate_gather_communicator ? device.declare("dp_gather", buffers.group)
                                                                          : context.reduce;
    if (num_instances() > 1) context.across_instances = device.declare("dp_instances", across_instances(r));
    const auto reduce = make_grad_reduce(context);
    const auto gather = make_param_gather(context);
    update(context, -1);
    for (std::int32_t step = 0; step < 2; ++step) record_step(context, *reduce, *gather, step);
    return device.take_program();
  }

 private:
  using Uses = std::initializer_list<Use>;

  std::int32_t num_instances() const { return case_.config.ddp.num_distributed_optimizer_instances; }
  Group across_instances(std::int32_t r) const { return testing_support::group_of(num_instances(), r / 2, r % 2, 2); }

  static void nothing(const Arguments&) {}
  void launch(const Context& context, const char* purpose, Direction direction, std::int64_t ns, std::int32_t step,
              Uses uses) const {
    context.device->launch(
        context.compute, {.direction = direction, .purpose = intern(purpose), .step = step},
        Operation(intern(purpose), nothing, {.flops = static_cast<double>(ns), .sms = ScheduleTimes::kOwn}, uses));
  }

  void update(const Context& context, std::int32_t step) const {
    const Buffers& b = *context.buffers;
    const Access access = step < 0 ? Access::out : Access::inout;
    launch(context, "optimizer", Direction::optimizer, case_.optimizer_ns, step,
           {{flat(b.params), access}, {flat(b.grads), access}});
  }

  void record_step(const Context& context, GradReduce& reduce, ParamGather& gather, std::int32_t step) const {
    const auto n = static_cast<std::int32_t>(case_.sizes.size());
    const Buffers& b = *context.buffers;
    gather.begin_step(step);
    reduce.begin_step(step);
    if (case_.zero_ns > 0)
      launch(context, "grad_zero", Direction::none, case_.zero_ns, step, {{flat(b.grads), Access::out}});
    for (std::int32_t m = 0; m < case_.num_microbatches; ++m) {
      for (std::int32_t p = 0; p < n; ++p) {
        gather.before_use({&p, 1});
        launch(context, "forward", Direction::forward, case_.forward_ns * size(p), step, {{b.weight(p), Access::in}});
      }
      for (std::int32_t p = n; p-- > 0;) {
        launch(context, "backward", Direction::backward, case_.backward_ns * size(p), step,
               {{b.weight(p), Access::in}, {b.main_grad(p), Access::inout}});
        if (m + 1 == case_.num_microbatches) reduce.after_wgrad({&p, 1});
      }
    }
    reduce.finish();
    update(context, step);
    context.device->mark(context.compute, 0, step);
  }

  std::int64_t size(std::int32_t p) const { return case_.sizes[static_cast<std::size_t>(p)]; }

  const ScheduleCase& case_;
};

}  // namespace underlap::dp
