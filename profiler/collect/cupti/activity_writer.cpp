// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/activity_writer.hpp"

#include <utility>

namespace underlap::cupti {

ActivityWriter::ActivityWriter(BufferPool& pool, Options options)
    : pool_(pool),
      options_(std::move(options)),
      parser_(
          options_.cupti_version, [this](std::uint64_t address) { return name_at(address); }, options_.next_record) {
  queue_.reserve(options_.most_buffers);
  thread_ = std::thread([this] { run(); });
}

ActivityWriter::~ActivityWriter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

void ActivityWriter::hand_over(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({buffer, valid_bytes});
    ++num_handed_over_;
  }
  arrived_.notify_one();
}

ActivityWriter::Written ActivityWriter::take() {
  std::unique_lock lock(mutex_);
  caught_up_.wait(lock, [this] { return num_read_ == num_handed_over_; });
  Written taken = std::exchange(written_, {});
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return taken;
}

void ActivityWriter::run() {
  std::vector<Completed> batch;
  batch.reserve(options_.most_buffers);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::swap(queue_, batch);
    }
    for (const Completed& completed : batch) read(completed);
    {
      const std::lock_guard lock(mutex_);
      num_read_ += static_cast<std::int64_t>(batch.size());
    }
    caught_up_.notify_all();
    batch.clear();
  }
}

void ActivityWriter::read(const Completed& completed) {
  try {
    ++written_.num_buffers;
    const std::span<const std::uint8_t> bytes(completed.buffer, completed.valid_bytes);
    if (options_.keeps_raw) written_.recording.buffers.emplace_back(bytes.begin(), bytes.end());
    parser_.parse(bytes, written_.activities);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
  pool_.give_back(completed.buffer);
}

std::optional<NameId> ActivityWriter::name_at(std::uint64_t address) {
  const auto name = options_.name_at(address);
  if (name && options_.keeps_raw) written_.recording.names.emplace(address, name_of(*name));
  return name;
}

}  // namespace underlap::cupti
