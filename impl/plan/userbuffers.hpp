// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {

/// One of Megatron-Bridge's userbuffers presets: the workload that it was tuned for, and its settings for each slot.
struct UserbuffersPreset {
  std::string_view name, precision, arch;
  std::int64_t hidden_size, tp, cp, micro_batch_size, seq_length;
  TensorRequests slots;
};

std::optional<UserbuffersPreset> find_userbuffers_preset(std::string_view name);

std::vector<std::string_view> userbuffers_preset_names();

/// 80, 90 or 100: the compute capability of the generation that accelerator `arch` belongs to.
int architecture_of(std::string_view arch);

}  // namespace underlap::plan
