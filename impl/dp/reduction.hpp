// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "impl/dp/technique.hpp"

namespace underlap::dp {

/// The pieces that every gradient reduction is made of.
///
/// Ready: counts the wgrads of a bucket group's parameters. Scaling: without average_in_collective the compute stream
/// scales a bucket by 1 / number of ranks before it is sent. Transfer: a reduce-scatter into this rank's place in the
/// bucket, or an all-reduce without the distributed optimizer.
///
/// With several optimizer instances the reduce-scatter is over one of them, and an all-reduce sums the shard over all:
///
///   compute      | bwd 3 | bwd 2  | bwd 1  | bwd 0  |         | optimizer
///   dp           |       | rs 0|  | rs 1|  | rs 2|  | rs 3|
///   dp_instances |             |ar 0|   |ar 1|   |ar 2|   |ar 3|
///
/// These are serialized: a bucket's reduce-scatter does not begin before the all-reduce of the bucket before it, so
/// that a bucket takes the sum of both. Source: Megatron Core's num_distributed_optimizer_instances, whose private
/// stream waits for each collective in turn.
class BucketReduction {
 public:
  explicit BucketReduction(const Context& context) : context_(context) {}

  void begin_step(std::int32_t step);

  /// Counts a wgrad of each of `parameters`, made by one operation. Returns the bucket groups that are complete with
  /// it; none while the schedule holds them back.
  std::vector<std::vector<std::int32_t>> count(std::span<const std::int32_t> parameters);

  /// Returns the bucket groups that were held back so far, in the order in which they became complete; from now on none
  /// is.
  std::vector<std::vector<std::int32_t>> release();

  std::vector<std::int32_t> all_buckets() const { return context_.buffers->all_buckets(); }

  /// Scales bucket `b` on the compute stream, unless the collective averages.
  void scale(std::int32_t b);

  /// Scales buckets and sends them as one group, after what the compute stream holds now: a `wait` where that is a
  /// gradient or its scaling, a `throttle` where the stream has waited for these before. Then sums them over the
  /// instances.
  void send(const std::vector<std::int32_t>& buckets);
  /// The same of buckets that are scaled, with transfers of the caller's making, one a bucket, and within the instance
  /// alone.
  void send(const std::vector<std::int32_t>& buckets, NameId purpose, const std::vector<Transfer>& transfers);

  /// Makes the compute stream wait for all that was sent.
  void wait();

  /// The tag of what is done for bucket `b`; -1: for several.
  Tag tag(std::int32_t b) const;

  /// Throws std::logic_error naming a bucket group whose gradients never became ready.
  void check_all_ready() const;

 private:
  Transfer reduction(Collective collective, const View& input, std::int32_t b) const;
  void sum_over_instances(const std::vector<std::int32_t>& buckets);
  Event communicate(const Communicator& communicator, const std::vector<std::int32_t>& buckets, NameId purpose,
                    const std::vector<Transfer>& transfers) const;

  Context context_;
  std::int32_t step_ = -1;
  std::vector<std::int32_t> num_pending_;  // wgrads still to come, by bucket group
  bool is_holding_ = false;
  std::vector<std::vector<std::int32_t>> held_;
  bool has_new_gradients_ = false;  // on the compute stream, that the reduction's has not waited for
  Event sent_after_;                // the compute stream's event at the last send
  std::optional<Event> summed_;     // over instances: the last that compute has not waited for
};

}  // namespace underlap::dp
