// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "profiler/gate/gate.hpp"

namespace underlap::gate {

/// Whether a file begins as what gate_json() wrote.
bool is_gate_file(const std::filesystem::path&);

/// Reads what gate_json() wrote (schema underlap.gate/1). Throws std::invalid_argument naming the file, and the place
/// where something is missing or of another type; also for another version of the schema.
GateReport read_gate(const std::filesystem::path&);

}  // namespace underlap::gate
