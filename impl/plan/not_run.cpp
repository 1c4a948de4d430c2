// SPDX-License-Identifier: Apache-2.0
// What a plan may hold and `run` of this version does not do.
#include <fmt/format.h>

#include "impl/plan/resolution.hpp"

namespace underlap::plan {
namespace {

void refuse_parallelism(Resolution& r) {
  const ParallelConfig& p = r.config().parallel;
  const auto refuse = [&](std::string_view path, std::int32_t size) {
    if (size > 1)
      r.not_run({path}, fmt::format("{} is {}: TP, PP and CP are planned but not run by this version", path, size));
  };
  refuse("model.tensor_model_parallel_size", p.tensor_model_parallel_size);
  refuse("model.pipeline_model_parallel_size", p.pipeline_model_parallel_size);
  refuse("model.context_parallel_size", p.context_parallel_size);
}

void refuse_choices(Resolution& r) {
  const Config& c = r.config();
  if (c.mixed_precision.recipe != "bf16_mixed")
    r.not_run({"mixed_precision.recipe"},
              fmt::format("recipe {} is planned but not run by this version; bf16_mixed is", c.mixed_precision.recipe));
}

void refuse_known_names(Resolution& r) {
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Row& row = rows()[i];
    const Setting& setting = r.settings[i];
    if (row.status != Status::known || setting.state != Setting::State::given || !in_scope(row.scope, r)) continue;
    if (to_json_text(setting.value) != row.fallback)
      r.not_run({row.path}, fmt::format("{} is known by name but not run by this version; leave it out or at {}",
                                        row.path, row.fallback));
  }
}

}  // namespace

void find_what_does_not_run(Resolution& r) {
  refuse_parallelism(r);
  refuse_choices(r);
  refuse_known_names(r);
}

}  // namespace underlap::plan
