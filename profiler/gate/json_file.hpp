// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "platform/json.hpp"

namespace underlap::gate {

/// Reads a file of JSON whole. Throws std::invalid_argument naming the file, and the line where it is no JSON; as
/// read_input_file() where it cannot be read or is larger than any that a gate writes.
nlohmann::ordered_json read_json_file(const std::filesystem::path&);

}  // namespace underlap::gate
