// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/kernel_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

// Before each block's times.
struct Head {
  std::int64_t bytes = 0;
  std::int64_t block = 0;
  std::int64_t last_ns = 0;
};

[[noreturn]] void cannot(const std::filesystem::path& path, const std::string& why) {
  throw MachineError(fmt::format("cannot write {}: {}", path.string(), why));
}

}  // namespace

KernelFiles::KernelFiles(std::filesystem::path folder, std::vector<std::string> names)
    : folder_(std::move(folder)), names_(std::move(names)), last_ns_(names_.size()) {}

// A process that was killed leaves its last block unfinished.
std::vector<KernelFiles::Block> KernelFiles::read(std::size_t cell) const {
  std::ifstream file(path(cell), std::ios::binary);
  std::vector<Block> blocks;
  Head head;
  while (file.read(reinterpret_cast<char*>(&head), sizeof head)) {
    std::error_code ignored;
    if (head.bytes < 0 || static_cast<std::uintmax_t>(head.bytes) > std::filesystem::file_size(path(cell), ignored))
      break;
    Block block{static_cast<std::int32_t>(head.block), head.last_ns,
                std::string(static_cast<std::size_t>(head.bytes), '\0')};
    if (!file.read(block.times.data(), head.bytes)) break;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

void KernelFiles::open(std::size_t cell, std::int32_t blocks) {
  if (!records(cell)) return;
  std::int64_t kept = 0;
  std::int32_t next = 0;
  last_ns_[cell] = 0;
  for (const Block& block : blocks > 0 ? read(cell) : std::vector<Block>{}) {
    if (next == blocks || block.block != next) break;
    kept += static_cast<std::int64_t>(sizeof(Head) + block.times.size());
    last_ns_[cell] = block.last_ns;
    ++next;
  }
  if (next < blocks)
    throw std::invalid_argument(
        fmt::format("{} lacks block {}, which the run has finished: measure into another folder "
                    "(-o DIR)",
                    path(cell).string(), next));
  if (kept == 0) std::ofstream(path(cell), std::ios::trunc);
  std::error_code error;
  std::filesystem::resize_file(path(cell), static_cast<std::uintmax_t>(kept), error);
  if (error) cannot(path(cell), error.message());
}

void KernelFiles::append(std::size_t cell, std::int32_t block, std::int64_t last_ns, const report::KernelTimes& times) {
  last_ns_[cell] = std::max(last_ns_[cell], last_ns);
  write(cell, {block, last_ns_[cell], encode(times)});
}

void KernelFiles::write(std::size_t cell, const Block& block) const {
  const Head head{static_cast<std::int64_t>(block.times.size()), block.block, block.last_ns};
  std::ofstream file(path(cell), std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file.write(block.times.data(), head.bytes);
  if (!file.flush()) cannot(path(cell), std::strerror(errno));
}

CellTimes KernelFiles::times_of(std::size_t cell, const report::Steps& left_out) const {
  CellTimes all;
  if (!records(cell)) return all;
  for (const Block& block : read(cell)) {
    const report::KernelTimes times = report::decode_kernel_times(block.times);
    for (const auto& [step, compute] : times.compute)
      if (!left_out.contains(step)) all.compute += compute;
    analysis::append(all.places, analysis::medians(times.places));
    all.alone += times.alone;
  }
  return all;
}

}  // namespace underlap::bench
