// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "impl/device/device.hpp"
#include "impl/device/host/fabric.hpp"
#include "impl/device/host/link.hpp"
#include "impl/device/host/stream_worker.hpp"
#include "impl/device/tensor_table.hpp"
#include "profiler/collect/recorder.hpp"

namespace underlap::host {

struct HostOptions {
  std::int32_t rank = 0;
  LinkOptions link{};
  int compute_threads = 1;    ///< threads that one operation may use
  bool record_slices = true;  ///< false: marks only
  bool guard_views =
      false;  ///< operations run on private copies of their views, so that nothing else is in their reach
};

/// A rank's accelerator on the host: streams are threads, memory is the process's, the fabric carries the transfers.
class HostDevice final : public Device {
 public:
  /// `fabric` outlives the device.
  HostDevice(Fabric& fabric, const HostOptions& options);
  ~HostDevice() override;

  Stream create_stream(std::string_view name, Priority priority = Priority::normal) override;
  Tensor allocate(std::string_view name, DataType dtype, std::int64_t elements) override;
  Communicator declare(std::string_view purpose, const Group& group, const CommunicatorHints& hints = {}) override;
  void begin() override;
  void launch(Stream stream, const Tag& tag, const Operation& operation) override;
  void communicate(const Communicator& communicator, const Tag& tag, std::span<const Transfer> transfers) override;
  Event record(Stream stream) override;
  void wait(Stream stream, Event event) override;
  void throttle(Stream stream, Event event) override { wait(stream, event); }
  void upload(Stream stream, const Tag& tag, const View& destination, std::span<const std::byte> bytes) override;
  void mark(Stream stream, std::int32_t block, std::int32_t step) override;
  void synchronize(Event event) override;
  void synchronize() override;
  void download(const View& source, std::span<std::byte> bytes) override;

  /// The recorder of this device's streams. Use while the device is idle.
  Recorder& recorder() { return recorder_; }

  /// Takes the marks made so far. Call while the device is idle.
  std::vector<Mark> take_marks();

  /// Size of its tensors, bytes.
  std::int64_t allocated_bytes() const { return allocated_bytes_; }

  /// CPU time that the communication streams have used so far.
  std::int64_t communication_cpu_ns() const { return communication_cpu_ns_.load(std::memory_order_relaxed); }

 private:
  struct StreamState;
  struct CommunicatorState;
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  using Bytes = std::unique_ptr<std::byte, Free>;

  void execute(StreamState& stream, Command& command);
  void run(StreamState& stream, LaunchCommand& command);
  void run(StreamState& stream, CommunicateCommand& command);
  void run(StreamState& stream, UploadCommand& command);
  void run(StreamState& stream, WaitCommand& command);
  void run(StreamState& stream, MarkCommand& command);
  StreamState& state(Stream stream);
  void enqueue_operation(Stream stream, Command command);
  void stop() noexcept;
  void refuse_too_slow(const CommunicateCommand& command, std::int32_t group_size) const;
  void refuse_after_begin(std::string_view what, std::string_view name) const;

  Fabric& fabric_;
  HostOptions options_;
  Link link_;
  Recorder recorder_;
  std::vector<Mark> marks_;
  std::uint32_t num_operations_ = 0;  // since the last mark
  std::atomic<std::int64_t> communication_cpu_ns_{0};
  TensorTable tensors_;
  std::vector<Bytes> memory_;  // of the tensors
  std::int64_t allocated_bytes_ = 0;
  std::vector<std::unique_ptr<CommunicatorState>> communicators_;
  bool has_begun_ = false;  // from then on the lists below stay as they are, and stream threads read them freely
  bool is_stopped_ = false;
  std::mutex streams_mutex_;                           // the list grows on one thread and is stopped from any
  std::vector<std::unique_ptr<StreamState>> streams_;  // last: their threads use all of the above
};

}  // namespace underlap::host
