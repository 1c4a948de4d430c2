// SPDX-License-Identifier: Apache-2.0
// Configurations of Megatron-Bridge, NeMo and Megatron-LM.
#pragma once

#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {

/// Whether `root` is a dump of Megatron-Bridge's ConfigContainer: `_target_` is at the top or in one of its sections.
bool is_bridge_dump(const Node& root);

/// Reads the overlap settings of a dump, as Bridge would apply them: if comm_overlap or mixed_precision is present, the
/// copies of their fields in other sections do not count. Settings unrelated to overlap are ignored, with one notice
/// for each section. Underlap's own sections (run, extensions, environment) may be mixed with Bridge's.
void read_bridge_dump(Settings& settings, const Node& root, Problems& problems);

/// Whether `root` is a recipe of NeMo 2.0 as its command line writes it: a trainer with a strategy.
bool is_nemo_dump(const Node& root);

/// The same in the sections of a dump of Megatron-Bridge. Nodes of `root` are shared, and so outlive the document.
Document nemo_as_bridge(const Node& root);

/// Whether a text is a list of arguments of Megatron-LM, as a launch script holds them: its first word, comments and
/// variables apart, begins with two hyphens.
bool are_megatron_arguments(const std::string& text);

/// Reads such a list as Megatron-LM's arguments.py does: omitted arguments have its defaults, not Megatron-Bridge's.
/// Arguments unrelated to overlap are ignored, with one notice. `document` holds the nodes and outlives `settings`.
Settings read_megatron_arguments(const std::string& text, Document& document, Problems& problems);

}  // namespace underlap::plan
