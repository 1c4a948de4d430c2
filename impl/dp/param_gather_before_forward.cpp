// SPDX-License-Identifier: Apache-2.0
//
// Parameter gather without overlap: one group of all-gathers between the optimizer and the forward pass.
//
//   compute | optimizer |           | fwd 3 | fwd 2 | fwd 1 | fwd 0 |
//   dp      |           | ag of all |
//
// Exposed: all of it. It follows the end of the optimizer's last update, so it counts to the step that uses the
// parameters. Source: Megatron Core's distributed optimizer with overlap_param_gather off.
#include "impl/dp/technique.hpp"

namespace underlap::dp {
namespace {

class ParamGatherBeforeForward final : public ParamGather {
 public:
  explicit ParamGatherBeforeForward(const Context& context) : context_(context) {}

  void begin_step(std::int32_t step) override {
    context_.scope().fork({context_.gather.stream});
    context_.device->wait(context_.compute, gather(context_, context_.buffers->all_buckets(), step));
  }

  void before_use(std::span<const std::int32_t>) override {}

 private:
  Context context_;
};

const ParamGathers::Register kRegistered{
    {.name = "param_gather_before_forward",
     .summary = "gathers all parameters in one group before the forward pass",
     .exposed = "all of it",
     .keys = {{.is_sharded = true}},
     .facts = {.knob = "comm_overlap.overlap_param_gather", .overlaps = false, .purposes = {"param_all_gather"}},
     .make = make_of<ParamGatherBeforeForward>}};

}  // namespace
}  // namespace underlap::dp
