// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "tests/cuda_host/fibers.hpp"

namespace underlap::cuda_host {

/// Something that a stream has been told to do.
struct Item {
  std::function<bool()> ready;  ///< whether it may run now; empty: always. Asked only while it is its stream's first
  std::function<void()> run;
  std::shared_ptr<const KernelLaunch> kernel = nullptr;  ///< of a kernel, which may run beside others
  /// In place of `run`: goes on with what was begun, and says whether it is over.
  std::function<bool()> advance = nullptr;
  bool has_begun = false;
  std::uint64_t number = 0;  ///< in the order of enqueueing
};

}  // namespace underlap::cuda_host

// The opaque types of CUDA's headers, as this machine understands them.
struct CUstream_st {
  std::deque<underlap::cuda_host::Item> items;
  int priority = 0;
  std::uint64_t num_done = 0;
  std::uint64_t num_enqueued = 0;
  std::pair<std::thread::id, int> hardware_queue{};
  std::vector<std::int64_t> done_ns;  // of the host's steady clock, by item; the first is that of its creation
};
struct CUevent_st {
  CUstream_st* stream = nullptr;  ///< of the last record; nullptr: never recorded
  std::uint64_t position = 0;     ///< in that stream
};

struct CUmemPoolHandle_st {
  std::uint64_t release_threshold = 0;
  int reuses_by_waiting = 1;
};

namespace underlap::cuda_host {

/// A GPU made of queues. What is enqueued runs only while somebody waits, one item at a time, and the next stream is
/// drawn at random among those whose first item may run: any order that CUDA allows, and mostly not the one in which
/// things were enqueued. A missing wait shows as a wrong result. All ranks of a process share the machine.
///
/// A kernel that waits for others stays first in its stream while everything else goes on. When nothing does, the
/// clock that kernels read keeps pace with the host's, so that deadlines pass.
class Machine {
 public:
  static Machine& instance();

  /// A fresh machine: what cudaGetDeviceCount says from now on, and where random orders start. Nobody holds any of its
  /// memory.
  void reset(int num_devices, std::uint64_t seed);

  CUstream_st* create_stream(int priority);
  void destroy_stream(CUstream_st* stream);
  void enqueue(CUstream_st* stream, Item item);

  /// Runs items of all streams until `done` holds. cudaErrorLaunchTimeout where for 20 s nothing can run;
  /// cudaErrorLaunchFailure after a kernel has thrown (what() says what).
  cudaError_t run_until(const std::function<bool()>& done);

  /// Device memory, of `memory_bytes` in all (4 GiB after a reset): nullptr where there is not enough left.
  void* take_memory(std::size_t bytes, std::size_t alignment = 256);
  void give_memory(void* memory);
  void set_memory(std::size_t bytes);
  std::size_t memory_left();
  std::size_t memory_bytes() const { return memory_bytes_; }

  /// Memory that may be shown to other processes, which here are threads: it is gone once it is given back and nobody
  /// has it open.
  bool is_shareable(void* memory) const { return shareable_.contains(memory); }
  void make_shareable(void* memory) { shareable_[memory] = 0; }
  bool open_memory(void* memory);
  bool close_memory(void* memory);
  /// How often memory was given back that somebody had open: a driver leaves undefined what happens then.
  int num_freed_while_open = 0;
  /// Other ranks' memory cannot be mapped, as between GPUs without a way to each other. reset() ends it.
  bool refuses_peer_access = false;

  /// Makes a kernel of the future fail: the machine is of no use from then on.
  void fail(const std::string& what);
  bool has_failed();
  /// Something outside of the queues has changed what an item's `ready` says.
  void wake() { changed_.notify_all(); }
  /// The calls since the last reset or clear, and how many of them have that name.
  std::ptrdiff_t count_calls(const std::string& name);
  void clear_calls();
  std::vector<std::string> all_calls();
  /// Runs items of all streams until none may run.
  void run_all_that_may();

  int num_devices() const { return num_devices_; }
  /// The newest CUDA that the driver knows, as cudaDriverGetVersion says it; 0: there is none.
  int driver() const { return driver_; }
  void set_driver(int version) { driver_ = version; }
  std::size_t num_streams();
  /// Whether nothing is enqueued. Called with the mutex held.
  bool is_idle() const;
  bool has_passed(const CUevent_st& event) const;
  /// When what was ahead of an event that has passed was done, nanoseconds of the host's steady clock.
  std::int64_t passed_at_ns(const CUevent_st& event) const;
  const std::string& what() const { return what_; }
  std::mutex& mutex() { return mutex_; }
  std::mt19937_64& random() { return random_; }
  /// The calls that reached the runtime so far, by name: what a test of a device's manners reads.
  std::vector<std::string> calls;
  /// The kernels that were launched so far, without their code.
  std::vector<KernelLaunch> launched;
  /// How far apart any two events are, in milliseconds; nullopt: as the host's clock saw them. reset() sets it to 1.
  std::optional<float> event_distance_ms = 1.0F;
  int num_sms = 4;  ///< reset() sets it to that
  /// How many threads a block of 544 runs with: those of the link's kernels, which take any number. 0: all. reset()
  /// sets it to 0.
  unsigned link_threads = 0;
  /// Whether cudaDeviceSynchronize waits; else it fails, since ranks that share the machine must not. reset() ends it.
  bool waits_for_device = false;
  /// As 90 for 9.0; reset() sets it to that.
  int compute_capability = 90;
  /// Hardware queues of each rank (a thread that makes streams), which its streams are dealt onto in turn; 0: as many
  /// as streams. An item holds up all that was enqueued behind it in its queue until it begins. Ahead of any stream;
  /// reset() sets it to 0.
  int connections = 0;
  /// From here on kernels that stand first in their streams run side by side on the virtual clock, not one by one.
  /// For kernels without static __shared__ memory. reset() ends it.
  bool kernels_run_together = false;
  /// Asked, on the thread that enqueues it, whether somebody wants to know when an item with something to run ran; the
  /// answer, unless empty, is told the host's steady clock before and after it. reset() ends it.
  std::function<std::function<void(std::int64_t, std::int64_t)>()> watch;
  /// Called by cudaEventRecord before it does anything, without the machine's mutex: a full launch queue waits here.
  /// reset() ends it.
  std::function<void()> before_record;

 private:
  bool run_one();
  bool run_first(CUstream_st& stream, const std::vector<CUstream_st*>& able);
  std::vector<CUstream_st*> able_streams();
  bool keep_clock();
  void run_side_by_side(CUstream_st& chosen, const std::vector<CUstream_st*>& able);

  std::mutex mutex_;  // of everything here: items run under it
  std::condition_variable changed_;
  std::vector<CUstream_st*> streams_;
  std::vector<std::unique_ptr<CUstream_st>> gone_;
  std::mt19937_64 random_{1};
  int num_devices_ = 1;
  int driver_ = CUDART_VERSION;
  std::map<void*, std::size_t> memory_;
  std::map<void*, int> shareable_;  // how often each is open
  std::set<void*> freed_while_open_;
  std::map<std::thread::id, int> num_streams_of_;
  std::uint64_t num_items_ = 0;
  std::chrono::steady_clock::time_point last_step_ = std::chrono::steady_clock::now();
  std::size_t memory_bytes_ = std::size_t{4} << 30;
  std::size_t memory_taken_ = 0;
  bool failed_ = false;
  std::string what_;
};

}  // namespace underlap::cuda_host
