// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/schema/schema.hpp"

namespace underlap::plan {

/// Whether `root` is a recipe of NeMo 2.0 as its command line writes it: a trainer with a strategy.
bool is_nemo_dump(const Node& root);

/// The same in the sections of a dump of Megatron-Bridge. Nodes of `root` are shared, and so outlive the document.
Document nemo_as_bridge(const Node& root);

}  // namespace underlap::plan
