// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace underlap::plan {

// The files knobs/NAME.yaml, which the program carries.
std::string_view overlap_knobs_text();
std::string_view tensor_knobs_text();
std::string_view numerics_knobs_text();
std::string_view model_knobs_text();
std::string_view workload_knobs_text();
std::string_view megatron_arguments_knobs_text();

}  // namespace underlap::plan
