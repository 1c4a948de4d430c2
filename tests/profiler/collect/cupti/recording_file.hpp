// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "platform/input/input_file.hpp"
#include "profiler/collect/cupti/activity_writer.hpp"

namespace underlap::cupti {

/// Writes a recording: a line that names the format, one line `key: value` for each entry, an empty line; then, in
/// little endian, names (address u64, length u64, text) and buffers (length u64, bytes), each list after its number of
/// entries.
inline void write_recording(const std::filesystem::path& path, const Recording& recording) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](std::uint64_t value) { file.write(reinterpret_cast<const char*>(&value), sizeof value); };
  file << "underlap cupti recording 1\ncupti_version: " << recording.cupti_version << '\n';
  for (const auto& [key, value] : recording.about) file << key << ": " << value << '\n';
  file << '\n';
  put(recording.names.size());
  for (const auto& [address, name] : recording.names) {
    put(address);
    put(name.size());
    file << name;
  }
  put(recording.buffers.size());
  for (const auto& buffer : recording.buffers) {
    put(buffer.size());
    file.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(buffer.size()));
  }
  if (!file.flush()) throw std::runtime_error(path.string() + ": cannot be written");
}

/// Reads what write_recording() wrote, also compressed.
inline Recording read_recording(const std::filesystem::path& path) {
  std::istringstream file(read_input_file(path));
  file.exceptions(std::ios::failbit | std::ios::badbit);
  const auto number = [&] {
    std::uint64_t value = 0;
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  };
  Recording recording;
  std::string line;
  std::getline(file, line);
  for (std::getline(file, line); !line.empty(); std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    recording.about.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  recording.cupti_version = static_cast<std::uint32_t>(std::stoul(recording.about.extract("cupti_version").mapped()));
  for (std::uint64_t left = number(); left > 0; --left) {
    const std::uint64_t address = number();
    std::string name(number(), '\0');
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    recording.names.emplace(address, std::move(name));
  }
  for (std::uint64_t left = number(); left > 0; --left) {
    std::vector<std::uint8_t>& buffer = recording.buffers.emplace_back(number());
    file.read(reinterpret_cast<char*>(buffer.data()), static_cast<std::streamsize>(buffer.size()));
  }
  return recording;
}

}  // namespace underlap::cupti
