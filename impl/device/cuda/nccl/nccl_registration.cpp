// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/nccl/nccl_registration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "platform/errors.hpp"
#include "platform/nvidia_library.hpp"

namespace underlap::cuda {
namespace {

// Before it, a window is handed out that is none where ranks cannot map each other's memory.
constexpr int kFirstThatTellsOfSymmetry = NCCL_VERSION(2, 29, 0);

std::size_t in_whole_pages(std::int64_t bytes) {
  return static_cast<std::size_t>((bytes + kWindowAlignment - 1) / kWindowAlignment * kWindowAlignment);
}

}  // namespace

NcclRegistration::Entry NcclRegistration::register_one(ncclComm_t communicator, const RegisteredBuffer& buffer) const {
  Entry entry;
  if (buffer.symmetric && api_.has_windows())
    check(api_, api_.CommWindowRegister(communicator, buffer.data, in_whole_pages(buffer.bytes), &entry.window,
                                        kSymmetricWindow));
  if (entry.window == nullptr)
    check(api_, api_.CommRegister(communicator, buffer.data, static_cast<std::size_t>(buffer.bytes), &entry.local));
  return entry;
}

void NcclRegistration::add(ncclComm_t communicator, const std::string& purpose,
                           std::span<const RegisteredBuffer> buffers, std::vector<std::string>& notices) {
  std::vector<std::string> without_window;
  std::vector<std::string> unregistered;
  for (const RegisteredBuffer& buffer : buffers) {
    try {
      entries_.push_back(register_one(communicator, buffer));
    } catch (const MachineError& error) {
      throw MachineError(
          fmt::format("{}; communicator {} cannot register {} ({} bytes): set ddp.nccl_ub to false, or "
                      "ddp.disable_symmetric_registration to true",
                      error.what(), purpose, buffer.name, buffer.bytes));
    }
    const Entry& entry = entries_.back();
    if (buffer.symmetric && entry.window == nullptr) without_window.push_back(buffer.name);
    if (entry.window == nullptr && entry.local == nullptr) unregistered.push_back(buffer.name);
  }
  if (api_.version < kFirstThatTellsOfSymmetry &&
      std::ranges::any_of(entries_, [](const Entry& entry) { return entry.window != nullptr; }))
    notices.push_back(
        fmt::format("communicator {}: NCCL {} does not report whether windows are symmetric: they are if its ranks are "
                    "in one NVLink domain",
                    purpose, release_text(api_.version)));
  if (!without_window.empty())
    notices.push_back(fmt::format(
        "communicator {}: no symmetric windows for {}: {}: each rank registers its own", purpose,
        fmt::join(without_window, ", "),
        api_.has_windows() ? "NCCL created none (its ranks are not in one NVLink domain, or NCCL_CUMEM_ENABLE is 0)"
                           : fmt::format("NCCL {} has none (needs 2.27)", release_text(api_.version))));
  if (!unregistered.empty())
    notices.push_back(
        fmt::format("communicator {}: NCCL registered nothing for {} (NCCL_LOCAL_REGISTER is 0, or its "
                    "transport does not use it)",
                    purpose, fmt::join(unregistered, ", ")));
}

bool NcclRegistration::has_windows() const {
  return !entries_.empty() && std::ranges::all_of(entries_, [](const Entry& entry) { return entry.window != nullptr; });
}

void NcclRegistration::remove(ncclComm_t communicator) noexcept {
  for (; !entries_.empty(); entries_.pop_back()) {
    const Entry& entry = entries_.back();
    if (entry.window != nullptr) (void)api_.CommWindowDeregister(communicator, entry.window);
    if (entry.local != nullptr) (void)api_.CommDeregister(communicator, entry.local);
  }
}

}  // namespace underlap::cuda
