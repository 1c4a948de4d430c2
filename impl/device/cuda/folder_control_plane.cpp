// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/folder_control_plane.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

constexpr std::chrono::milliseconds kLook{1};
constexpr const char* kFailure = "failure";

// One name for a list of ranks of any length. FNV-1a; a list that is short, as most are, stands as it is.
std::string name_of(const std::vector<std::int32_t>& members) {
  if (members.size() <= 16) return fmt::format("ranks-{}", fmt::join(members, "-"));
  std::uint64_t hash = 14695981039346656037U;
  for (const std::int32_t member : members)
    for (int byte = 0; byte < 4; ++byte)
      hash = (hash ^ (static_cast<std::uint32_t>(member) >> (8 * byte) & 0xFFU)) * 1099511628211U;
  return fmt::format("ranks-{}-{:016x}", members.size(), hash);
}

}  // namespace

FolderControlPlane::FolderControlPlane(std::filesystem::path folder, std::chrono::milliseconds timeout)
    : folder_(std::move(folder)), timeout_(timeout) {}

// Written under another name and linked to its own: it is there whole or not at all, and the first of two stays.
bool FolderControlPlane::publish(const std::string& name, std::span<const std::byte> bytes) const {
  static std::atomic<std::uint64_t> unique{0};
  const std::filesystem::path part = folder_ / fmt::format(".{}.{}.{}", name, getpid(), unique++);
  {
    std::ofstream file(part, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw MachineError(fmt::format("{} cannot be written: {}", part.string(), std::strerror(errno)));
  }
  const bool is_first = link(part.c_str(), (folder_ / name).c_str()) == 0;
  const int why = errno;
  unlink(part.c_str());
  if (!is_first && why != EEXIST)
    throw MachineError(fmt::format("{} cannot be made: {}", (folder_ / name).string(), std::strerror(why)));
  return is_first;
}

std::optional<std::vector<std::byte>> FolderControlPlane::read(const std::string& name) const {
  std::ifstream file(folder_ / name, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

void FolderControlPlane::broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) {
  const std::int32_t rank = group.members[static_cast<std::size_t>(group.my_index)];
  const std::string key = fmt::format("{}.{}", name_of(group.members), num_calls_[group.members]++);
  // A member's presence is its file; the first member's carries what it has to say.
  publish(fmt::format("{}.{}", key, group.my_index), group.my_index == 0 ? bytes : std::span<std::byte>{});
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  std::vector<std::int32_t> missing;
  for (std::int32_t i = 0; i < group.size(); ++i) missing.push_back(i);
  while (true) {
    std::erase_if(missing,
                  [&](std::int32_t i) { return std::filesystem::exists(folder_ / fmt::format("{}.{}", key, i)); });
    if (missing.empty()) break;
    if (const auto why = failure()) throw MachineError(*why);
    if (std::chrono::steady_clock::now() > deadline) {
      for (std::int32_t& i : missing) i = group.members[static_cast<std::size_t>(i)];
      throw MachineError(fmt::format("rank {}: {} waited {} ms for rank {} (run.peer_timeout_s)", rank, what,
                                     timeout_.count(), fmt::join(missing, ", ")));
    }
    std::this_thread::sleep_for(kLook);
  }
  const auto said = read(key + ".0");
  if (!said || said->size() != bytes.size())
    throw MachineError(fmt::format("rank {}: {}: the first member said {} bytes, {} were expected", rank, what,
                                   said ? said->size() : 0, bytes.size()));
  std::copy(said->begin(), said->end(), bytes.begin());
}

void FolderControlPlane::fail(std::int32_t rank, std::string_view why) noexcept {
  const std::string prefix = fmt::format("rank {}: ", rank);
  const std::string text = why.starts_with(prefix) ? std::string(why) : prefix + std::string(why);
  try {
    publish(kFailure, std::as_bytes(std::span(text)));
  } catch (const MachineError&) {
    // The folder is gone: so are those who would read it.
  }
}

std::optional<std::string> FolderControlPlane::failure() {
  std::error_code ignored;
  if (!std::filesystem::exists(folder_ / kFailure, ignored)) return std::nullopt;
  const auto bytes = read(kFailure);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace underlap::cuda
