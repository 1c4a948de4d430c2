// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/technique.hpp"

namespace underlap::pp {

RegisterSchedule::RegisterSchedule(const NamedSchedule& schedule) {
  const auto script = [write = schedule.write](const ScriptContext& context) {
    auto made = std::make_unique<Script>(*context.config, context.stage);
    write(*made);
    made->finish();
    return made;
  };
  const auto in_flight = [script](const plan::Config& config, std::int32_t stage) {
    return count_in_flight(*script({.config = &config, .stage = stage}), 0);
  };
  plan::add_pipeline_schedule({.name = schedule.name,
                               .refusal = schedule.refusal,
                               .splits_backward = schedule.splits_backward,
                               .in_flight = in_flight});
  Pipelines::add({.name = schedule.name,
                  .summary = schedule.summary,
                  .exposed = schedule.exposed,
                  .keys = {schedule.name},
                  .facts = {.knob = "comm_overlap.overlap_p2p_comm",
                            .overlaps = schedule.overlaps,
                            .purposes = {"send_", "recv_"}},
                  .make = script});
}

}  // namespace underlap::pp
