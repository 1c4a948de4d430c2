// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/read_ahead.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace underlap::formats {
namespace {

constexpr std::size_t kReadAheadBytes = std::size_t{1} << 20;
constexpr std::size_t kMostBlocks = 8;

}  // namespace

ReadAhead::ReadAhead(ByteStream& stream) : stream_(stream) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error&) {
    return;  // read() reads itself
  }
}

void ReadAhead::run(const std::stop_token& stop) try {
  for (bool goes_on = true; goes_on;) {
    Block block;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return filled_.size() < kMostBlocks; });
      if (stop.stop_requested()) return;
      if (!free_.empty()) {
        block.bytes = std::move(free_.back());
        free_.pop_back();
      }
    }
    block.bytes.resize(kReadAheadBytes);
    block.size = stream_.read(block.bytes);
    goes_on = block.size == kReadAheadBytes;
    {
      const std::lock_guard lock(mutex_);
      filled_.push_back(std::move(block));
      ended_ = !goes_on;
    }
    changed_.notify_all();
  }
} catch (...) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    ended_ = true;
  }
  changed_.notify_all();
}

// false: nothing more comes.
bool ReadAhead::take_block() {
  {
    std::unique_lock lock(mutex_);
    if (!current_.bytes.empty()) free_.push_back(std::move(current_.bytes));
    current_ = {};
    used_ = 0;
    changed_.wait(lock, [&] { return ended_ || !filled_.empty(); });
    if (filled_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return false;
    }
    current_ = std::move(filled_.front());
    filled_.pop_front();
  }
  changed_.notify_all();
  return true;
}

std::size_t ReadAhead::read(std::span<char> into) {
  if (!thread_.joinable()) return stream_.read(into);
  std::size_t done = 0;
  while (done < into.size()) {
    if (used_ == current_.size && !take_block()) break;
    const std::size_t count = std::min(into.size() - done, current_.size - used_);
    std::copy_n(current_.bytes.data() + used_, count, into.data() + done);
    used_ += count;
    done += count;
  }
  return done;
}

}  // namespace underlap::formats
