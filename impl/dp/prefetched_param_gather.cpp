// SPDX-License-Identifier: Apache-2.0
//
// Parameter gather during the forward pass, bucket by bucket.
//
// The optimizer leaves each rank with its updated shards. In the next step's first microbatch the first use of a bucket
// waits for its all-gather. It then starts the gathers of the buckets after it: one with Megatron,
// `extensions.param_gather_prefetch` buckets here. Later microbatches find all parameters gathered.
//
//   compute |         | fwd 3 | fwd 2 | fwd 1 | fwd 0 |      bucket 3 is the start of the model
//   dp      |  ag 3   | ag 2  | ag 1  | ag 0  |
//
// Exposed: the gather of the first bucket, which nothing precedes, and the time by which any other is longer than the
// forward pass of the bucket before it. With a larger depth a long gather may begin more buckets early. Under a
// pipeline whose schedule starts the gathers of all stages at the same time, a chunk's buckets are gathered at once,
// and their first use only waits. Source: Megatron Core's overlap_param_gather without align_param_gather.
#include <algorithm>
#include <utility>

#include "impl/dp/technique.hpp"
#include "impl/plan/config.hpp"

namespace underlap::dp {
namespace {

class PrefetchedParamGather final : public ParamGather {
 public:
  explicit PrefetchedParamGather(const Context& context)
      : context_(context), depth_(context.config->extensions.param_gather_prefetch) {}

  void begin_step(std::int32_t step) override {
    step_ = step;
    const auto num_groups = context_.buffers->layout.groups.size();
    gathered_.assign(num_groups, Event{});
    is_sent_.assign(num_groups, false);
    is_waited_for_.assign(num_groups, false);
    context_.scope().fork({context_.gather.stream});
  }

  void start() override {
    is_throttled_ = false;
    send(context_.buffers->layout.num_groups() - 1, 0);
  }

  void before_use(std::span<const std::int32_t> parameters) override {
    is_throttled_ = false;
    const std::vector<std::int32_t> groups = not_waited_for(parameters);
    for (const std::int32_t g : groups) {
      send(g, g);
      // Gathers end in the order in which they are sent: the last one's end is all that the operation needs.
      if (g == groups.back()) context_.device->wait(context_.compute, gathered_[static_cast<std::size_t>(g)]);
      send(g - 1, g - depth_);
    }
  }

 private:
  // The bucket groups of `parameters` that compute has not waited for in this step; from now on it has.
  std::vector<std::int32_t> not_waited_for(std::span<const std::int32_t> parameters) {
    std::vector<std::int32_t> groups;
    for (const std::int32_t parameter : parameters) {
      const std::int32_t g = context_.buffers->layout.group_of[static_cast<std::size_t>(parameter)];
      if (is_waited_for_[static_cast<std::size_t>(g)]) continue;
      is_waited_for_[static_cast<std::size_t>(g)] = true;
      groups.push_back(g);
    }
    return groups;
  }

  // Sends the unsent bucket groups from `first` down to `last`, no earlier than compute reaches this point. Only this
  // keeps gathers within the prefetch depth: the update that they depend on is long past.
  void send(std::int32_t first, std::int32_t last) {
    for (std::int32_t g = first; g >= std::max(0, last); --g) {
      const auto i = static_cast<std::size_t>(g);
      if (is_sent_[i]) continue;
      is_sent_[i] = true;
      if (!std::exchange(is_throttled_, true))
        context_.device->throttle(context_.gather.stream, context_.device->record(context_.compute));
      gathered_[i] = gather(context_, context_.buffers->layout.groups[i], step_);
    }
  }

  Context context_;
  std::int32_t depth_;
  std::int32_t step_ = -1;
  bool is_throttled_ = false;    // nothing was enqueued on the compute stream since the last throttle
  std::vector<Event> gathered_;  // by bucket group
  std::vector<bool> is_sent_;
  std::vector<bool> is_waited_for_;
};

const ParamGathers::Register kRegistered{
    {.name = "prefetched_param_gather",
     .summary = "gathers each bucket during the forward pass of the previous bucket",
     .exposed = "the first bucket, and the time by which a gather exceeds the forward pass of the previous bucket",
     .keys = {{.is_sharded = true, .overlap = true}},
     .facts = {.knob = "comm_overlap.overlap_param_gather", .purposes = {"param_all_gather"}},
     .make = make_of<PrefetchedParamGather>}};

}  // namespace
}  // namespace underlap::dp
