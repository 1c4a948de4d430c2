// SPDX-License-Identifier: Apache-2.0
#include "impl/pp/technique.hpp"

#include "impl/pp/scripted_pipeline.hpp"

namespace underlap::pp {

RegisterSchedule::RegisterSchedule(const NamedSchedule& schedule) {
  plan::add_pipeline_schedule({schedule.name, schedule.refusal});
  Pipelines::add(
      {.name = schedule.name,
       .summary = schedule.summary,
       .exposed = schedule.exposed,
       .keys = {schedule.name},
       .make = [write = schedule.write](const Context& context) { return make_scripted_pipeline(context, write); }});
}

}  // namespace underlap::pp
