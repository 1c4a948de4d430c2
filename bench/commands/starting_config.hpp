// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace underlap::bench {

/// A commented configuration to begin with, YAML: the model of that preset with its communication overlap off, on, and
/// without transfers. A model of a few million parameters is measured on this host; any other runs in virtual time, on
/// the fewest GPUs whose memory holds it. Throws std::invalid_argument for a preset that there is none of.
std::string starting_config(const std::string& preset);

}  // namespace underlap::bench
