// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/kernel_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "platform/errors.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

// Before each block's times, which are CBOR: {bytes: 48213, kept: {block: 2, last_ns: 91970151, trace_bytes: 1048576}},
// four numbers of 64 bits.
struct Head {
  std::int64_t bytes = 0;
  KernelFiles::Kept kept;
};

[[noreturn]] void cannot(const fs::path& path, const std::string& why) {
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
    Block block{head.kept, std::string(static_cast<std::size_t>(head.bytes), '\0')};
    if (!file.read(block.times.data(), head.bytes)) break;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

void KernelFiles::open(std::size_t cell, std::int32_t blocks, std::int64_t trace_bytes) {
  if (!records(cell)) return;
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("{} {}: choose another folder (-o DIR)", path(cell).string(), why));
  };
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path(cell), error);
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse("is a link or not a regular file");
  last_ns_[cell] = 0;
  std::int64_t kept = 0;
  std::int32_t next = 0;
  for (const Block& block : blocks > 0 ? read(cell) : std::vector<Block>{}) {
    if (next == blocks || block.kept.block != next) break;
    kept += static_cast<std::int64_t>(sizeof(Head) + block.times.size());
    last_ns_[cell] = block.kept.last_ns;
    ++next;
    if (next == blocks && block.kept.trace_bytes != trace_bytes)
      refuse(fmt::format("records {} bytes of the cell's trace after block {}, but results.json records {}",
                         block.kept.trace_bytes, block.kept.block, trace_bytes));
  }
  if (next < blocks) refuse(fmt::format("lacks block {}, which the run finished", next));
  if (kept == 0) std::ofstream(path(cell), std::ios::trunc);
  fs::resize_file(path(cell), static_cast<std::uintmax_t>(kept), error);
  if (error) cannot(path(cell), error.message());
}

void KernelFiles::append(std::size_t cell, Kept kept, const report::KernelTimes& times) {
  kept.last_ns = last_ns_[cell] = std::max(last_ns_[cell], kept.last_ns);
  const std::string bytes = encode(times);
  const Head head{static_cast<std::int64_t>(bytes.size()), kept};
  std::ofstream file(path(cell), std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file.write(bytes.data(), head.bytes);
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
