// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "impl/device/sim/hardware.hpp"

namespace underlap::sim::test {

inline std::string read_text_file(const std::string& path_from_root) {
  std::ifstream file(UNDERLAP_SOURCE_DIR "/" + path_from_root);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The machine of round figures, tests/data/hardware/round.yaml.
inline std::string round_yaml() { return read_text_file("tests/data/hardware/round.yaml"); }
inline Hardware round_hardware() { return load_hardware(UNDERLAP_SOURCE_DIR "/tests/data/hardware/round.yaml"); }

}  // namespace underlap::sim::test
