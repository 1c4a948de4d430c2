// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "profiler/collect/cupti/activities.hpp"
#include "profiler/collect/cupti/activity_writer.hpp"
#include "profiler/collect/cupti/api.hpp"
#include "profiler/collect/cupti/buffer_pool.hpp"
#include "profiler/collect/cupti/clock.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::cupti {

struct CollectorOptions {
  std::int32_t rank = 0;                 ///< whose clock the snapshots are
  std::size_t buffer_bytes = 4UL << 20;  ///< of one activity buffer
  std::size_t initial_buffers = 8;       ///< allocated and touched before anything is measured
  std::size_t most_buffers = 64;         ///< with all of them in use CUPTI gets none and drops records (from 12.9 on)
  bool keeps_raw = false;                ///< keep the buffers' bytes as well
};

/// What collects, for the metadata of a trace.
struct CollectorInfo {
  std::uint32_t cupti_version = 0;
  int driver_version = 0;  ///< newest CUDA version that the driver supports; 0: not known
  std::string library;
  std::vector<std::string> notes;  ///< what this library cannot do, one line each
};

/// Everything collected since the last drain.
struct Drained {
  Activities activities;
  std::int64_t num_buffers = 0;
  std::int64_t num_dropped = 0;       ///< records that CUPTI dropped
  std::int64_t num_refused = 0;       ///< refused requests of CUPTI for a buffer: each loses records, too
  std::vector<ClockSnapshot> clocks;  ///< CLOCK_MONOTONIC, as all times are, and the wall clock
  Recording recording{};              ///< where raw bytes are kept; about.gpu and about.command are the caller's to add

  /// Whether no records were lost. If a drain is not valid, the whole measurement is not valid.
  bool is_valid() const { return num_dropped == 0 && num_refused == 0; }
};

/// Collects what a process runs on its GPUs, through CUPTI's activity records. One per process, on all of its devices.
///
/// Make it before the first CUDA call and start() it once before kernels are loaded: CUPTI generates code for a kernel
/// that is loaded while tracing is off when tracing is switched on. CUPTI fits the GPU's clock to the system's, and
/// drain() puts both on CLOCK_MONOTONIC. Hardware trace (cuptiActivityEnableHWTrace) is not used.
class Collector {
 public:
  /// Claims CUPTI. `api` must outlive the collector. Throws MachineError where another client is attached (named as far
  /// as it can be), where CUPTI refuses, or where it is the one of CUDA 13.0 before Update 1, which may hang at stop();
  /// std::invalid_argument where the process has a collector already.
  Collector(const Api& api, const CollectorOptions&);
  /// Stops, takes back the buffers and lets go of CUPTI. What was not drained is lost.
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// From here to the matching pop(), what this thread enqueues belongs to operation `id` (not 0). Regions nest: the
  /// innermost counts. A group of NCCL calls is one region, which ends after ncclGroupEnd.
  void push(std::uint64_t id);
  /// Throws std::invalid_argument where this thread has no open region.
  void pop();

  /// Switches recording on; off. Costs milliseconds: between blocks, not within. A second start() or stop() does
  /// nothing. Throws MachineError where a kind of record is refused; nothing is on then.
  void start();
  void stop();

  /// Takes everything recorded. Call while the devices are idle, outside CUPTI's callbacks: a default flush returns
  /// only complete records. After stop() the flush is forced, so that no record is left.
  Drained drain();

  const CollectorInfo& info() const { return info_; }

 private:
  friend struct CollectorCallbacks;
  struct Unsubscribe {
    const Api* api;
    void operator()(CUpti_SubscriberHandle handle) const { api->unsubscribe(handle); }
  };
  using Subscriber = std::unique_ptr<std::remove_pointer_t<CUpti_SubscriberHandle>, Unsubscribe>;

  /// Holds the place of the one collector that callbacks find.
  class Claim {
   public:
    explicit Claim(Collector*);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
  };

  Subscriber subscribe();
  void prepare();
  void set_calls(bool enable);
  void count_dropped(CUcontext, std::uint32_t stream) noexcept;
  void stop_quietly() noexcept;
  void put_on_our_clock(Activities&, bool is_stopped);
  ActivityWriter::Options writer_options(const CollectorOptions&) const;

  const Api& api_;
  const std::int32_t rank_;
  const bool keeps_raw_;
  CollectorInfo info_;
  BufferPool pool_;
  ActivityWriter writer_;
  std::atomic<std::int64_t> num_dropped_{0};
  std::atomic<std::int64_t> num_refused_{0};
  std::vector<CUpti_ActivityKind> enabled_;
  bool has_calls_ = false;
  std::vector<ClockSnapshot> clocks_;
  ClockPair started_at_;
  ClockPair nothing_before_;  // of what is not drained
  Subscriber subscriber_;
  Claim claim_;
};

}  // namespace underlap::cupti
