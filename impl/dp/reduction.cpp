// SPDX-License-Identifier: Apache-2.0
#include "impl/dp/reduction.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "impl/plan/config.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace underlap::dp {

void BucketReduction::begin_step(std::int32_t step) {
  step_ = step;
  is_holding_ = context_.schedule_starts;
  const Buffers& buffers = *context_.buffers;
  num_pending_.assign(buffers.layout.groups.size(), 0);
  for (std::size_t p = 0; p < buffers.parameters.size(); ++p)
    num_pending_[static_cast<std::size_t>(buffers.layout.group_of[p])] += buffers.parameters[p].num_wgrads;
}

std::vector<std::vector<std::int32_t>> BucketReduction::count(std::span<const std::int32_t> parameters) {
  has_new_gradients_ = true;
  const plan::BucketLayout& layout = context_.buffers->layout;
  std::vector<std::vector<std::int32_t>> complete;
  for (const std::int32_t parameter : parameters) {
    const auto g = static_cast<std::size_t>(layout.group_of[static_cast<std::size_t>(parameter)]);
    if (--num_pending_[g] == 0) (is_holding_ ? held_ : complete).push_back(layout.groups[g]);
  }
  return complete;
}

std::vector<std::vector<std::int32_t>> BucketReduction::release() {
  is_holding_ = false;
  return std::exchange(held_, {});
}

Tag BucketReduction::tag(std::int32_t b) const {
  return {.direction = Direction::backward, .bucket = b, .step = step_};
}

void BucketReduction::scale(std::int32_t b) {
  static const NameId kPurpose = intern("grad_scale");
  const Buffers& buffers = *context_.buffers;
  const std::int32_t num_ranks = buffers.group.size() * context_.config->ddp.num_distributed_optimizer_instances;
  if (context_.config->ddp.average_in_collective || num_ranks == 1) return;
  context_.scope().launch(tag(b), Kind::compute, kPurpose,
                          kernels::scale(buffers.bucket(buffers.grads, b), 1.0 / num_ranks));
  has_new_gradients_ = true;
}

Transfer BucketReduction::reduction(Collective collective, const View& input, std::int32_t b) const {
  const Buffers& buffers = *context_.buffers;
  return {
      .collective = collective,
      .input = input,
      .output = buffers.shard(buffers.grads, b),
      .op = context_.config->ddp.average_in_collective ? ReduceOp::average : ReduceOp::sum,
      .accumulator = context_.config->extensions.reduce_accumulator == "fp32" ? Accumulator::fp32 : Accumulator::wire};
}

void BucketReduction::send(const std::vector<std::int32_t>& buckets) {
  static const NameId kReduceScatter = intern("grad_reduce_scatter");
  static const NameId kAllReduce = intern("grad_all_reduce");
  const Buffers& buffers = *context_.buffers;
  for (const std::int32_t b : buckets) scale(b);
  std::vector<Transfer> transfers;
  for (const std::int32_t b : buckets)
    transfers.push_back(reduction(buffers.is_sharded ? Collective::reduce_scatter : Collective::all_reduce,
                                  buffers.bucket(buffers.grads, b), b));
  send(buckets, buffers.is_sharded ? kReduceScatter : kAllReduce, transfers);
  if (context_.across_instances) sum_over_instances(buckets);
}

void BucketReduction::sum_over_instances(const std::vector<std::int32_t>& buckets) {
  static const NameId kAllReduce = intern("grad_all_reduce");
  const Buffers& buffers = *context_.buffers;
  std::vector<Transfer> transfers;
  for (const std::int32_t b : buckets)
    transfers.push_back(reduction(Collective::all_reduce, buffers.shard(buffers.grads, b), b));
  const Communicator& across = *context_.across_instances;
  context_.scope().follow(across.stream, context_.reduce.stream);
  summed_ = communicate(across, buckets, kAllReduce, transfers);
}

void BucketReduction::send(const std::vector<std::int32_t>& buckets, NameId purpose,
                           const std::vector<Transfer>& transfers) {
  Device& device = *context_.device;
  const Event now = device.record(context_.compute);
  if (has_new_gradients_) {
    device.wait(context_.reduce.stream, now);
  } else if (now != sent_after_) {  // else the send before has ordered this one, too
    device.throttle(context_.reduce.stream, now);
  }
  has_new_gradients_ = false;
  sent_after_ = now;
  if (summed_) device.throttle(context_.reduce.stream, *summed_);
  communicate(context_.reduce, buckets, purpose, transfers);
}

Event BucketReduction::communicate(const Communicator& communicator, const std::vector<std::int32_t>& buckets,
                                   NameId purpose, const std::vector<Transfer>& transfers) const {
  return context_.scope().communicate(communicator, tag(buckets.size() == 1 ? buckets[0] : -1), purpose, transfers);
}

void BucketReduction::wait() {
  context_.scope().join({context_.across_instances.value_or(context_.reduce).stream});
  summed_.reset();
}

void BucketReduction::check_all_ready() const {
  for (std::size_t g = 0; g < num_pending_.size(); ++g)
    if (num_pending_[g] > 0)
      throw std::logic_error(
          fmt::format("bucket group {} was never sent: {} of its gradients are missing", g, num_pending_[g]));
}

}  // namespace underlap::dp
