// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "impl/device/device.hpp"
#include "impl/device/host/collectives.hpp"
#include "profiler/trace/communication.hpp"

namespace underlap::host {

/// A command for a stream. Built by the enqueuing thread, so that the stream's thread does not allocate.
struct LaunchCommand {
  Tag tag;
  Operation operation;
  std::uint32_t number = 0;  ///< of the operation in its step
};
struct CommunicateCommand {
  Tag tag;
  std::uint32_t communicator = 0;
  std::vector<BoundTransfer> transfers;
  CommunicationRecord record;
  std::uint32_t number = 0;
};
struct UploadCommand {
  Tag tag;
  View destination;
  std::vector<std::byte> bytes;
  std::uint32_t number = 0;
};
struct WaitCommand {
  Event event;
};
struct MarkCommand {
  std::int32_t block = 0;
  std::int32_t step = 0;
};
using Command = std::variant<LaunchCommand, CommunicateCommand, UploadCommand, WaitCommand, MarkCommand>;

/// One stream: a thread that runs commands in the order in which they came.
class StreamWorker {
 public:
  using Execute = std::function<void(Command&)>;

  /// `execute` runs each command on the worker's thread. Its exceptions go to `fail` on the same thread; later commands
  /// are then skipped.
  StreamWorker(std::uint32_t id, Execute execute, std::function<void(std::exception_ptr)> fail);
  ~StreamWorker();
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;

  std::uint32_t id() const { return id_; }

  void enqueue(Command command);

  /// How many commands were enqueued so far: the position that an event recorded now waits for.
  std::uint64_t num_enqueued() const { return num_enqueued_; }

  /// Blocks until `position` commands are done, or the stream is stopped. Returns false where it was stopped before.
  bool wait_for(std::uint64_t position);

  /// Releases all threads that wait for this stream, now and later. Queued commands are skipped.
  void stop() noexcept;

  /// Waits until the thread has run or passed over all that is queued, and ends it. Idempotent.
  void close() noexcept;

 private:
  static constexpr std::uint64_t kNobodyWaits = ~std::uint64_t{0};

  void run();

  std::uint32_t id_;
  Execute execute_;
  std::function<void(std::exception_ptr)> fail_;
  std::uint64_t num_enqueued_ = 0;  // touched by the enqueuing thread alone

  std::mutex mutex_;
  std::condition_variable queue_changed_;
  std::condition_variable progressed_;
  std::vector<Command> queue_;
  std::uint64_t num_done_ = 0;
  std::uint64_t next_wanted_ = kNobodyWaits;  // the lowest awaited position: no thread is woken before it
  bool closing_ = false;
  std::atomic<bool> stopped_{false};  // set under the mutex
  std::thread thread_;                // last: it uses all of the above
};

}  // namespace underlap::host
