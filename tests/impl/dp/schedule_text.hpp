// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "impl/device/recording_device.hpp"

namespace underlap {

/// A recorded program as text, one line a command.
inline std::vector<std::string> schedule_text(const Program& program) {
  std::vector<std::string> lines;
  for (const ProgramCommand& command : program.commands) {
    const std::string& stream = program.streams[command.stream].name;
    switch (command.type) {
      case ProgramCommand::Type::wait:
        lines.push_back(fmt::format("{} waits for {}", stream, program.streams[command.awaited_stream].name));
        break;
      case ProgramCommand::Type::throttle:
        lines.push_back(fmt::format("{} keeps behind {}", stream, program.streams[command.awaited_stream].name));
        break;
      case ProgramCommand::Type::mark: lines.push_back(stream + ": mark"); break;
      default:
        std::string line = fmt::format("{}: {}", stream, name_of(command.tag.purpose));
        for (const Transfer& t : program.transfers(command))
          line += fmt::format(" {}+{}", t.input.offset, t.input.elements());
        if (program.transfers(command).empty() && command.tag.bucket >= 0)
          line += fmt::format(" {}", command.tag.bucket);
        lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace underlap
