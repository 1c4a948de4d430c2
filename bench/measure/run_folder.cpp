// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/run_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "bench/machine/machine.hpp"
#include "platform/errors.hpp"

namespace underlap::bench {

void prepare_run_folder(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / "results.json"))
    throw std::invalid_argument(
        fmt::format("{} holds a run already: --resume goes on with it, -o DIR takes another folder", folder.string()));
  std::error_code error;
  std::filesystem::create_directories(folder / "traces", error);
  if (error)
    throw MachineError(fmt::format("cannot make the folder {}: {}", (folder / "traces").string(), error.message()));
  const std::filesystem::path probe = folder / ".writable";
  if (!std::ofstream(probe))
    throw MachineError(fmt::format("cannot write into {}: {}", folder.string(), std::strerror(errno)));
  std::filesystem::remove(probe, error);
}

void forget_empty_run_folder(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;  // what is not empty stays
  std::filesystem::remove(folder / "traces", ignored);
  std::filesystem::remove(folder, ignored);
}

std::string matrix_hash(const plan::Matrix& matrix) {
  std::string text;
  for (const plan::Cell& cell : matrix.cells) {
    text += cell.name + "\n";
    for (const plan::Knob& knob : cell.plan.knobs)
      if (knob.name != "run.blocks") text += knob.name + "=" + to_json_text(knob.effective) + "\n";
  }
  return name_hash(text);
}

}  // namespace underlap::bench
