// SPDX-License-Identifier: Apache-2.0
//
// Without the distributed optimizer every rank updates all parameters from the same reduced gradients: nothing is
// gathered.
#include "impl/dp/technique.hpp"

namespace underlap::dp {
namespace {

class NoParamGather final : public ParamGather {
 public:
  void begin_step(std::int32_t) override {}
  void before_use(std::span<const std::int32_t>) override {}
};

const ParamGathers::Register kRegistered{
    {.name = "no_param_gather",
     .summary = "every rank updates all parameters itself",
     .exposed = "nothing (no transfers)",
     .keys = {{.is_sharded = false}},
     .facts = {.knob = "comm_overlap.overlap_param_gather", .overlaps = false},
     .make = [](const Context&) -> std::unique_ptr<ParamGather> { return std::make_unique<NoParamGather>(); }}};

}  // namespace
}  // namespace underlap::dp
