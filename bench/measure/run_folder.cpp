// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>

#include "bench/machine/machine_info.hpp"
#include "impl/device/sim/hardware.hpp"
#include "platform/atomic_file.hpp"
#include "platform/text/escape.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

// Length of the cell's name in a file name. With number and extension it stays well within the 255 bytes of file
// systems.
constexpr std::size_t kLongestName = 120;

constexpr std::array<const char*, 2> kParts{"traces", "kernels"};

std::vector<std::string> files_of(const plan::Config& config) {
  std::vector<std::string> files;
  if (!config.train.data.empty()) files.push_back(config.train.data);
  const std::vector<std::string> shipped = sim::hardware_names();
  const std::string& hardware = config.run.hardware;
  const bool is_carried = std::ranges::find(shipped, hardware) != shipped.end();
  if (config.run.backend == Backend::sim && !is_carried) files.push_back(hardware);
  return files;
}

}  // namespace

HeldRunFolder::HeldRunFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  make_folder(folder_);
  try {
    lock_ = std::make_unique<FileLock>(folder_ / "run.lock");
  } catch (const FileIsHeld& held) {
    throw std::invalid_argument(
        fmt::format("{} is in use by {}; wait until it finishes, or choose another folder (-o DIR)", folder_.string(),
                    held.what()));
  }
  for (const char* part : kParts) make_folder(folder_ / part);
  remove_temporary_files(folder_);
}

HeldRunFolder::~HeldRunFolder() {
  std::error_code ignored;  // only empty folders are removed
  const bool holds_results = report::find_results(folder_).has_value();
  for (const char* part : kParts)
    if (!holds_results) std::filesystem::remove(folder_ / part, ignored);
  lock_.reset();
  if (!holds_results) std::filesystem::remove(folder_, ignored);
}

std::map<std::string, std::string> hash_inputs(const plan::Matrix& matrix) {
  std::map<std::string, std::string> hashes;
  for (const plan::Cell& cell : matrix.cells) {
    for (const std::string& path : files_of(cell.plan.config)) {
      std::error_code ignored;
      if (hashes.contains(path) || !std::filesystem::is_regular_file(path, ignored)) continue;
      std::ifstream file(path, std::ios::binary);
      if (file) hashes[path] = name_hash({std::istreambuf_iterator<char>(file), {}});
    }
  }
  return hashes;
}

std::string matrix_hash(const plan::Matrix& matrix, const std::map<std::string, std::string>& input_hashes) {
  std::string text;
  for (const plan::Cell& cell : matrix.cells) {
    text += cell.name + "\n";
    for (const plan::Knob& knob : cell.plan.knobs)
      if (knob.name != "run.blocks") text += knob.name + "=" + to_json_text(knob.effective) + "\n";
  }
  for (const auto& [path, hash] : input_hashes) text += path + "=" + hash + "\n";
  return name_hash(text);
}

namespace {

// "03-off" of the fourth cell.
std::string file_stem(std::size_t index, const std::string& cell) {
  constexpr std::string_view kNotInFileNames = "/\\:*?\"<>|";
  std::string name = cell;
  for (char& c : name)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0 || kNotInFileNames.find(c) != std::string_view::npos) c = '_';
  if (name.size() > kLongestName) name = fmt::format("{}-{}", first_characters(name, kLongestName), name_hash(cell));
  return fmt::format("{:02}-{}", index, name);
}

}  // namespace

std::string trace_file_name(std::size_t index, const std::string& cell) {
  return fmt::format("traces/{}.pftrace", file_stem(index, cell));
}

std::string kernel_file_name(std::size_t index, const std::string& cell) {
  return fmt::format("kernels/{}.bin", file_stem(index, cell));
}

std::vector<std::string> kernel_file_names(std::span<const plan::Cell> cells) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cells.size(); ++i)
    names.push_back(cells[i].plan.config.run.trace ? kernel_file_name(i, cells[i].name) : "");
  return names;
}

}  // namespace underlap::bench
