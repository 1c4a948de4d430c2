// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "impl/device/cuda/arena.hpp"
#include "impl/device/cuda/event_pool.hpp"
#include "impl/device/cuda/handles.hpp"
#include "impl/device/cuda/mark_clock.hpp"
#include "impl/device/cuda/staging_ring.hpp"
#include "impl/device/cuda/tracer.hpp"
#include "impl/device/cuda/transport.hpp"
#include "impl/device/device.hpp"
#include "impl/device/distinct_launches.hpp"
#include "impl/device/tensor_table.hpp"
#include "kernels/cuda/launch_context.hpp"

namespace underlap::cuda {

/// Enqueues `operation` on device memory. The default looks up its CUDA implementation; a test may run CPU
/// implementations.
using RunImplementation = void (*)(const Operation& operation, const Arguments& views, LaunchContext& context);
void run_cuda_implementation(const Operation& operation, const Arguments& views, LaunchContext& context);

struct CudaOptions {
  std::int32_t rank = 0;
  int device = 0;                             ///< CUDA's number of the GPU
  int norm_sm_margin = 0;                     ///< SMs that norms leave free
  std::int64_t workspace_reserve = 64 << 20;  ///< bytes of the pool kept ready for workspaces
  std::size_t staging_slots = 32;             ///< of uploads in flight, and
  std::size_t staging_slot_bytes = 256 << 10;
  bool peers_map_tensors = false;      ///< for transports that copy between ranks' tensors: CopyEngineTransport
  std::uint64_t first_operation = 1;   ///< first operation id: next_operation() of the rank's last device
  MatrixProducts* products = nullptr;  ///< these outlive the device
  Attention* attention = nullptr;
  bool is_deterministic = false;  ///< of LaunchContext
  Tracer* tracer = nullptr;       ///< nullptr: no capture
  RunImplementation run_implementation = run_cuda_implementation;
  /// Run at begin(), before the first transfer. At the first use of a kernel, CUDA and its libraries may wait for all
  /// running work. During a transfer that spins until its peers come, that wait would never end.
  std::vector<Launch> rehearsed{};
};

/// A rank's GPU. Streams are CUDA's, memory is the rank's arena, a transport carries the transfers.
///
/// Created, used and destroyed by one thread. A failure (of a launch, a kernel, a peer) is thrown by the call that
/// detects it and by every later call: the device is then unusable. The caller that catches it notifies the other ranks
/// (ControlPlane). A device that is destroyed with work in flight aborts its transport.
class CudaDevice final : public Device {
 public:
  /// `transport` outlives the device. Throws MachineError if the GPU does not exist.
  CudaDevice(Transport& transport, const CudaOptions& options);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Stream create_stream(std::string_view name, Priority priority = Priority::normal) override;
  Tensor allocate(std::string_view name, DataType dtype, std::int64_t elements) override;
  Tensor allocate_registered(std::string_view name, DataType dtype, std::int64_t elements,
                             const Registration& registration) override;
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

  /// Returns the marks made so far, timed by events. Call only if the device is idle. If a tracer captured the same
  /// steps, its marker kernels give the times on the clock of its slices, and windows are cut with those.
  std::vector<Mark> take_marks() { return mark_clock_.take(); }

  /// The id that the next operation will have.
  std::uint64_t next_operation() const { return next_operation_; }

  /// The handle of a stream, on which a capture or a micro-benchmark enqueues its own work.
  CUstream_st* handle(Stream stream) const;

  /// Total bytes of its tensors.
  std::int64_t allocated_bytes() const { return arena_->taken(); }

 private:
  struct StreamState;
  struct CommunicatorState;
  struct Note;  // the description of an operation, for a tracer and for messages

  template <class Enqueue>
  void enqueue(const Note& note, Enqueue enqueue);
  template <class Call>
  void guard(Call call);
  LaunchContext context(StreamState& stream, int sm_margin);
  StreamState& state(Stream stream) const;
  CommunicationRecord record_of(const Communicator& communicator, std::span<const Transfer> transfers) const;
  void touch_streams();
  void rehearse();
  void run(const Operation& operation, LaunchContext& at) const;
  void reset_faults();
  void connect();
  void check_faults();
  void copy_to_host(void* to, const void* from, std::size_t bytes);
  void check_order(std::string_view what, std::string_view name) const;
  void wait_until_idle();
  void rethrow_failure() const;
  [[noreturn]] void fail(const std::string& what);
  std::string unknown_operation(std::string_view what) const;

  Transport& transport_;
  CudaOptions options_;
  int num_sms_ = 0;
  int least_priority_ = 0;
  int greatest_priority_ = 0;
  std::unique_ptr<Arena> arena_;
  std::uint32_t* faults_ = nullptr;  // in the arena
  TensorTable tensors_;
  std::vector<std::unique_ptr<StreamState>> streams_;
  std::vector<std::unique_ptr<CommunicatorState>> communicators_;
  std::unique_ptr<StagingRing> staging_;
  EventPool events_;
  MarkClock mark_clock_;
  std::vector<BoundTransfer> transfers_;  // of the current group; a member, so that it allocates once
  std::uint64_t next_operation_;
  std::uint64_t first_unproven_;      // the oldest operation that may still run
  std::uint32_t num_operations_ = 0;  // since the last mark
  bool has_begun_ = false;
  bool is_idle_ = true;
  std::exception_ptr failure_;
};

}  // namespace underlap::cuda
