// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {

/// Whether `root` is a dump of Megatron-Bridge's ConfigContainer: `_target_` stands at the top or in one of its
/// sections.
bool is_bridge_dump(const Node& root);

/// Reads what a dump says of overlap, as Bridge would apply it: where comm_overlap or mixed_precision is there, the
/// copies of their fields in other sections do not count. What has nothing to do with overlap is ignored, with one
/// notice for each section. Underlap's own sections (run, extensions, environment) may stand beside Bridge's.
void read_bridge_dump(Settings& settings, const Node& root, Problems& problems);

}  // namespace underlap::plan
