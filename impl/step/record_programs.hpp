// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/device/distinct_launches.hpp"
#include "impl/device/program.hpp"
#include "impl/model/text_data.hpp"

namespace underlap::plan {
struct Config;
}

namespace underlap {

/// The programs of all ranks of `config`, by rank: construction and `steps` steps, transfers included where the
/// configuration leaves them out of its runs. Nothing runs, and train.data is not read.
std::vector<Program> record_programs(const plan::Config& config, std::int32_t steps, Detail detail = Detail::uses);

/// The commands of rank 0's first step alone, without the construction before it.
Program record_step(const plan::Config& config, Detail detail = Detail::uses);

/// The same for the ranks of rank 0's pipeline, stage by stage; without transfers if run.no_comm is set. Other
/// context-parallel ranks have tiles of other shapes, and as much work.
std::vector<Program> record_stages(const plan::Config& config, Detail detail = Detail::uses);

/// One of each kind of launch of `rank`'s steps and of the construction before them.
std::vector<Launch> record_launches(const plan::Config& config, const model::TextData& data, std::int32_t rank);

}  // namespace underlap
