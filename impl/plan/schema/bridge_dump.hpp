// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {

/// Whether `root` is a dump of Megatron-Bridge's ConfigContainer: `_target_` is at the top or in one of its sections.
bool is_bridge_dump(const Node& root);

/// Reads the overlap settings of a dump, as Bridge would apply them: if comm_overlap or mixed_precision is present, the
/// copies of their fields in other sections do not count. Settings unrelated to overlap are ignored, with one notice
/// for each section. Underlap's own sections (run, extensions, environment) may be mixed with Bridge's.
void read_bridge_dump(Settings& settings, const Node& root, Problems& problems);

}  // namespace underlap::plan
