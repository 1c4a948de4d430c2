// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/arriving_bytes.hpp"

#include <algorithm>
#include <span>
#include <system_error>

#include "profiler/trace/reading.hpp"

namespace underlap::formats {

namespace {

// What unpacking takes of the time that unpacking and decoding take.
constexpr double kUnpacking = 0.25;

}  // namespace

ArrivingBytes::ArrivingBytes(const std::filesystem::path& path, std::size_t piece_bytes) : piece_bytes_(piece_bytes) {
  Reading unwatched;
  open(path, unwatched);
}

ArrivingBytes::ArrivingBytes(const std::filesystem::path& path, Reading& reading, std::size_t piece_bytes)
    : piece_bytes_(piece_bytes) {
  open(path, reading);
}

void ArrivingBytes::open(const std::filesystem::path& path, Reading& reading) {
  stream_.emplace(path);
  if (stream_->is_compressed()) {
    reading.begin_stage(0, kUnpacking);
    unpacked_ = read_bytes(*stream_, {}, [&] { reading.at(stream_->bytes_taken(), stream_->file_length()); });
    reading.begin_stage(kUnpacking, 1);
    stream_.reset();
    ended_ = true;
    return;
  }
  require_room(path, stream_->file_length());
  length_ = static_cast<std::size_t>(stream_->file_length());
  bytes_ = std::make_unique_for_overwrite<char[]>(length_);
  try {
    thread_ = std::thread([this] { read(); });
  } catch (const std::system_error&) {
    read();
  }
}

ArrivingBytes::~ArrivingBytes() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  thread_.join();
}

void ArrivingBytes::read() {
  std::size_t done = 0;
  std::exception_ptr failure;
  for (bool goes_on = true; goes_on;) {
    std::size_t count = 0;
    const std::span<char> into(bytes_.get() + done, std::min(piece_bytes_, length_ - done));
    try {
      count = stream_->read(into);
    } catch (...) {
      failure = std::current_exception();
    }
    done += count;
    // A file that has become shorter since ends early.
    const bool ends = failure || done == length_ || count < into.size();
    {
      const std::lock_guard lock(mutex_);
      arrived_ = done;
      ended_ = ends;
      failure_ = failure;
      goes_on = !ends && !stopped_;
    }
    changed_.notify_one();
  }
}

std::string_view ArrivingBytes::beyond(std::size_t known) {
  if (!stream_) return unpacked_.bytes;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || arrived_ > known; });
  if (failure_) std::rethrow_exception(failure_);
  return {bytes_.get(), arrived_};
}

}  // namespace underlap::formats
