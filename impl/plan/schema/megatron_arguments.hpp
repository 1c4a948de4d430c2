// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {

/// Whether a text is a list of arguments of Megatron-LM, as a launch script holds them: its first word, comments and
/// variables apart, begins with two hyphens.
bool are_megatron_arguments(const std::string& text);

/// Reads such a list as Megatron-LM's arguments.py does: omitted arguments have its defaults, not Megatron-Bridge's.
/// Arguments unrelated to overlap are ignored, with one notice. `document` holds the nodes and outlives `settings`.
Settings read_megatron_arguments(const std::string& text, Document& document, Problems& problems);

}  // namespace underlap::plan
