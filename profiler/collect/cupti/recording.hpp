// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace underlap::cupti {

/// Activity buffers as CUPTI filled them, kept so that the parser can be tested where there is no GPU.
struct Recording {
  std::uint32_t cupti_version = 0;
  /// What made it: gpu, driver, cupti, command, and origin (recorded, or synthetic for buffers that no GPU wrote).
  /// Keys have no colon and no line break, values no line break.
  std::map<std::string, std::string> about{};
  std::map<std::uint64_t, std::string> names{};  ///< strings that records point to, by their address in that process
  std::vector<std::vector<std::uint8_t>> buffers{};
};

/// Writes `recording`: a line that names the format, one line `key: value` for each entry, an empty line; then, in
/// little endian, names (address u64, length u64, text) and buffers (length u64, bytes), each list after its number of
/// entries. Throws MachineError where the file cannot be written, std::invalid_argument for a key or value with a line
/// break.
void write_recording(const std::filesystem::path&, const Recording&);

/// Reads what write_recording() wrote. Throws MachineError naming the file where it cannot be read, is no recording, or
/// is cut short.
Recording read_recording(const std::filesystem::path&);

}  // namespace underlap::cupti
