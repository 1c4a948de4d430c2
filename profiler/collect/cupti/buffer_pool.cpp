// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/buffer_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace underlap::cupti {
namespace {

constexpr std::size_t kBufferAlignment = 64;  // CUPTI asks for 8; a cache line costs nothing more

std::uint8_t* allocate(std::size_t bytes) noexcept {
  const std::size_t rounded = (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  return static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, rounded));
}

}  // namespace

BufferPool::BufferPool(std::size_t bytes, std::size_t initial, std::size_t most) : bytes_(bytes), most_(most) {
  if (bytes == 0 || initial == 0 || initial > most)
    throw std::invalid_argument(fmt::format(
        "invalid pool of {} to {} buffers of {} bytes: needs at least one buffer, none empty", initial, most, bytes));
  all_.reserve(most_);
  free_.reserve(most_);
  for (std::size_t i = 0; i < initial; ++i) {
    std::uint8_t* const buffer = allocate(bytes_);
    if (buffer == nullptr) break;    // take() tries again, and what fails there is counted
    std::memset(buffer, 0, bytes_);  // the pages are there before anything is measured
    all_.push_back(buffer);
    free_.push_back(buffer);
  }
}

BufferPool::~BufferPool() {
  for (std::uint8_t* const buffer : free_) std::free(buffer);
}

std::uint8_t* BufferPool::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  if (all_.size() == most_) return nullptr;
  std::uint8_t* const buffer = allocate(bytes_);
  if (buffer != nullptr) all_.push_back(buffer);
  return buffer;
}

void BufferPool::give_back(std::uint8_t* buffer) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer);
}

bool BufferPool::owns(const std::uint8_t* buffer) const noexcept {
  const std::lock_guard lock(mutex_);
  return std::find(all_.begin(), all_.end(), buffer) != all_.end();
}

}  // namespace underlap::cupti
