// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/collector.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <shared_mutex>
#include <stdexcept>
#include <utility>

#include "platform/errors.hpp"
#include "profiler/collect/cupti/other_client.hpp"
#include "profiler/collect/cupti/record_layouts.hpp"
#include "profiler/collect/cupti/traced_calls.hpp"

namespace underlap::cupti {
namespace {

constexpr auto kCorrelationKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
static_assert(kCorrelationKind == kOperationCorrelation);

struct KindName {
  CUpti_ActivityKind kind;
  const char* name;
};
// CONCURRENT_KERNEL and never KERNEL, which makes kernels wait for one another. It comes first, and goes last.
constexpr KindName kKinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "CONCURRENT_KERNEL"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, "MEMCPY"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, "MEMCPY2"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "MEMSET"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "SYNCHRONIZATION"},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, "CUDA_EVENT"},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, "OVERHEAD"},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "EXTERNAL_CORRELATION"},
};
constexpr KindName kWholeApis[] = {
    {CUPTI_ACTIVITY_KIND_RUNTIME, "RUNTIME"},
    {CUPTI_ACTIVITY_KIND_DRIVER, "DRIVER"},
};

// CUPTI's buffer callbacks carry no user pointer, so the one collector of the process is kept here. Callbacks share the
// lock while they use it; setting or clearing it takes the exclusive lock.
struct Active {
  std::shared_mutex mutex;
  Collector* collector = nullptr;
};
Active& active() {
  static auto* const instance = new Active;  // never destroyed: CUPTI may call while the process ends
  return *instance;
}

bool has_call_selection(const Api& api) {
  return api.activity_enable_runtime_api != nullptr && api.activity_enable_driver_api != nullptr;
}

std::vector<std::string> notes_of(const Api& api, std::uint32_t version) {
  std::vector<std::string> notes;
  if (!has_call_selection(api))
    notes.emplace_back("this CUPTI (CUDA 12.4) records every API call, not only launches: each call costs more");
  if (api.activity_enable_all_sync_records == nullptr)
    notes.emplace_back("this CUPTI (before CUDA 12.8) also records queries of unfinished work");
  if (is_older_than_runtime(version, CUDART_VERSION))
    notes.push_back(
        fmt::format("CUPTI {} is older than the CUDA of this program: work launched by calls that it does not know "
                    "belongs to no operation",
                    version));
  if (!is_checked_version(version))
    notes.push_back(
        fmt::format("CUPTI {} is newer than the tested versions: CUPTI itself locates its records", version));
  return notes;
}

// Update 1 (130001) fixed both, according to its release notes.
void refuse_release_that_hangs(const Api& api, std::uint32_t version) {
  constexpr std::uint32_t kCuda13_0 = 130000;
  if (version != kCuda13_0) return;
  throw MachineError(
      fmt::format("{} is CUPTI {} of CUDA 13.0 before Update 1: it can hang when kernel records are switched off, and "
                  "crash when buffers are flushed\nput the CUPTI of CUDA 13.0 Update 1 or newer on "
                  "UNDERLAP_LIBRARY_PATH, or set run.trace: false",
                  api.library, version));
}

CollectorInfo info_of(const Api& api) {
  const std::uint32_t version = api.version();
  refuse_release_that_hangs(api, version);
  return {.cupti_version = version,
          .driver_version = api.driver_version(),
          .library = api.library,
          .notes = notes_of(api, version)};
}

// CUPTI crashed where it got no buffer until CUDA 12.9: before that, memory alone is the limit.
std::size_t most_buffers(const CollectorOptions& options, std::uint32_t version) {
  constexpr std::uint32_t kCuda12_9 = 27;
  constexpr std::size_t kAsMuchAsNeeded = 64;
  return version < kCuda12_9 ? kAsMuchAsNeeded * options.most_buffers : options.most_buffers;
}

// Since CUDA 13.2 the library returns MAX_LIMIT_REACHED at the end of a buffer, and INVALID_KIND for a record that was
// not completed. After any other code the rest of the buffer is not read either.
ActivityParser::NextRecord next_record_of(const Api& api) {
  return [next = api.activity_get_next_record](std::span<const std::uint8_t> buffer,
                                               const std::uint8_t* previous) -> std::optional<const std::uint8_t*> {
    // CUPTI takes buffers that may be written to, and writes to none.
    auto* record = reinterpret_cast<CUpti_Activity*>(const_cast<std::uint8_t*>(previous));
    const CUptiResult result = next(const_cast<std::uint8_t*>(buffer.data()), buffer.size(), &record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return nullptr;
    if (result != CUPTI_SUCCESS) return std::nullopt;
    return reinterpret_cast<const std::uint8_t*>(record);
  };
}

std::string what_was_set(const ClockFit& fit) {
  return fmt::format("records while the system clock was adjusted: it gained {} us in {} us", fit.gained_ns() / 1000,
                     fit.elapsed_ns() / 1000);
}

std::string version_text(const CollectorInfo& info) {
  return fmt::format("{} (driver of CUDA {}.{})", info.cupti_version, info.driver_version / 1000,
                     info.driver_version % 1000 / 10);
}

}  // namespace

struct CollectorCallbacks {
  static void CUPTIAPI request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    const std::shared_lock lock(active().mutex);
    Collector* const collector = active().collector;
    *buffer = collector == nullptr ? nullptr : collector->pool_.take();
    *bytes = *buffer == nullptr ? 0 : collector->pool_.bytes();
    *most_records = 0;  // as many as fit
    if (collector != nullptr && *buffer == nullptr) ++collector->num_refused_;
  }

  static void CUPTIAPI complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                std::size_t valid_bytes) {
    const std::shared_lock lock(active().mutex);
    Collector* const collector = active().collector;
    // A buffer of a destroyed collector was left to CUPTI for good, and has no owner.
    if (collector == nullptr || !collector->pool_.owns(buffer)) return;
    collector->count_dropped(context, stream);
    collector->writer_.hand_over(buffer, std::min(bytes, valid_bytes));
  }
};

Collector::Claim::Claim(Collector* collector) {
  const std::unique_lock lock(active().mutex);
  if (active().collector != nullptr)
    throw std::invalid_argument("CUPTI is already in use in this process: only one cupti::Collector per process");
  active().collector = collector;
}

Collector::Claim::~Claim() {
  const std::unique_lock lock(active().mutex);
  active().collector = nullptr;
}

Collector::Collector(const Api& api, const CollectorOptions& options)
    : api_(api),
      rank_(options.rank),
      keeps_raw_(options.keeps_raw),
      info_(info_of(api)),
      pool_(options.buffer_bytes, options.initial_buffers, most_buffers(options, info_.cupti_version)),
      writer_(pool_, writer_options(options)),
      subscriber_(nullptr, Unsubscribe{&api}),
      claim_(this) {
  subscriber_ = subscribe();
  prepare();
  nothing_before_ = started_at_ = clock_pair(api_);
}

Collector::~Collector() {
  stop_quietly();
  api_.activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

ActivityWriter::Options Collector::writer_options(const CollectorOptions& options) const {
  return {.cupti_version = info_.cupti_version,
          .name_at = name_in_this_process,
          .next_record = next_record_of(api_),
          .most_buffers = most_buffers(options, info_.cupti_version),
          .keeps_raw = options.keeps_raw};
}

Collector::Subscriber Collector::subscribe() {
  // No callback is ever enabled. The subscription is how CUPTI's clients see each other: with one attached, activity
  // calls may succeed and yet leave one of the two without records.
  const auto ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  CUpti_SubscriberHandle handle = nullptr;
  const CUptiResult result = api_.subscribe(&handle, ignore, nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    const std::string other = name_other_client();
    check(api_, result,
          fmt::format("{} uses CUPTI in this process: cuptiSubscribe", other.empty() ? "Another profiler" : other));
  }
  check(api_, result, "cuptiSubscribe");
  return Subscriber(handle, Unsubscribe{&api_});
}

void Collector::prepare() {
  check(api_, api_.activity_register_callbacks(&CollectorCallbacks::request, &CollectorCallbacks::complete),
        "cuptiActivityRegisterCallbacks");
  if (api_.activity_enable_all_sync_records != nullptr)
    check(api_, api_.activity_enable_all_sync_records(0), "cuptiActivityEnableAllSyncRecords");
}

void Collector::push(std::uint64_t id) {
  check(api_, api_.activity_push_external_correlation_id(kCorrelationKind, id),
        "cuptiActivityPushExternalCorrelationId");
}

void Collector::pop() {
  const CUptiResult result = api_.activity_pop_external_correlation_id(kCorrelationKind, nullptr);
  if (result == CUPTI_ERROR_QUEUE_EMPTY) throw std::invalid_argument("Collector::pop() without push() on this thread");
  check(api_, result, "cuptiActivityPopExternalCorrelationId");
}

void Collector::start() {
  if (!enabled_.empty()) return;
  const auto enable = [this](const KindName& kind) {
    check(api_, api_.activity_enable(kind.kind), fmt::format("cuptiActivityEnable({})", kind.name));
    enabled_.push_back(kind.kind);
  };
  try {
    for (const KindName& kind : kKinds) enable(kind);
    if (has_call_selection(api_))
      set_calls(true);
    else
      for (const KindName& kind : kWholeApis) enable(kind);
  } catch (...) {
    stop_quietly();
    throw;
  }
  clocks_.push_back(clock_snapshot(rank_));
  started_at_ = clock_pair(api_);
}

void Collector::set_calls(bool enable) {
  const TracedCalls calls = traced_calls(info_.cupti_version);
  has_calls_ = true;  // from the first one on there is something to switch off
  for (const CUpti_CallbackId id : calls.runtime)
    check(api_, api_.activity_enable_runtime_api(id, enable), fmt::format("cuptiActivityEnableRuntimeApi({})", id));
  for (const CUpti_CallbackId id : calls.driver)
    check(api_, api_.activity_enable_driver_api(id, enable), fmt::format("cuptiActivityEnableDriverApi({})", id));
  has_calls_ = enable;
}

void Collector::stop() {
  if (has_calls_) set_calls(false);
  while (!enabled_.empty()) {
    const CUpti_ActivityKind kind = enabled_.back();
    check(api_, api_.activity_disable(kind), fmt::format("cuptiActivityDisable({})", static_cast<int>(kind)));
    enabled_.pop_back();
  }
}

void Collector::stop_quietly() noexcept {
  try {
    if (has_calls_) set_calls(false);
  } catch (const MachineError&) {
    has_calls_ = false;  // a library that refuses to stop cannot be asked twice
  }
  for (; !enabled_.empty(); enabled_.pop_back()) api_.activity_disable(enabled_.back());
}

void Collector::count_dropped(CUcontext context, std::uint32_t stream) noexcept {
  std::size_t dropped = 0;
  if (api_.activity_get_num_dropped_records(context, stream, &dropped) == CUPTI_SUCCESS)
    num_dropped_ += static_cast<std::int64_t>(dropped);
}

// What runs on may leave records of before this drain to the next one.
void Collector::put_on_our_clock(Activities& activities, bool is_stopped) {
  const ClockPair now = clock_pair(api_);
  const ClockFit fit(started_at_, now);
  to_monotonic(activities, fit, nothing_before_.monotonic_ns, now.monotonic_ns);
  if (fit.was_set()) ++activities.skipped[what_was_set(fit)];
  if (is_stopped) nothing_before_ = started_at_ = now;
}

Drained Collector::drain() {
  const bool is_stopped = enabled_.empty();
  check(api_, api_.activity_flush_all(is_stopped ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0), "cuptiActivityFlushAll");
  count_dropped(nullptr, 0);  // what was dropped with no buffer to complete
  ActivityWriter::Written written = writer_.take();
  put_on_our_clock(written.activities, is_stopped);
  clocks_.push_back(clock_snapshot(rank_));
  Drained drained{.activities = std::move(written.activities),
                  .num_buffers = written.num_buffers,
                  .num_dropped = num_dropped_.exchange(0),
                  .num_refused = num_refused_.exchange(0),
                  .clocks = std::exchange(clocks_, {}),
                  .recording = std::move(written.recording)};
  if (keeps_raw_) {
    drained.recording.cupti_version = info_.cupti_version;
    drained.recording.about = {{"origin", "recorded"}, {"cupti", version_text(info_)}, {"library", info_.library}};
  }
  return drained;
}

}  // namespace underlap::cupti
