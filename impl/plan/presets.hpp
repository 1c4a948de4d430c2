// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "impl/plan/config/model_config.hpp"

namespace underlap::plan {

/// The published model shapes, sorted by their name in `preset`.
std::span<const ModelConfig> presets();

/// The shape of preset `name`; nullptr if there is no such preset.
const ModelConfig* find_preset(std::string_view name);

}  // namespace underlap::plan
