// SPDX-License-Identifier: Apache-2.0
#include "tests/profiler/collect/cupti/fake_cupti.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "profiler/collect/cupti/clock.hpp"

namespace underlap::cupti {
namespace {

constexpr std::uint32_t kStream = 5;
FakeCupti* the_fake = nullptr;  // the library's functions carry no object

}  // namespace

struct FakeCalls {
  static CUptiResult get_version(std::uint32_t* version) {
    *version = the_fake->version;
    return the_fake->note("version");
  }
  static CUptiResult get_result_string(CUptiResult result, const char** text) {
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "not enough rights" : nullptr;
    return *text == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
  }
  static CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*) {
    *handle = reinterpret_cast<CUpti_SubscriberHandle>(the_fake);
    return the_fake->note("subscribe");
  }
  static CUptiResult unsubscribe(CUpti_SubscriberHandle) { return the_fake->note("unsubscribe"); }
  static CUptiResult enable(CUpti_ActivityKind kind) {
    return the_fake->note(fmt::format("enable {}", static_cast<int>(kind)));
  }
  static CUptiResult disable(CUpti_ActivityKind kind) {
    return the_fake->note(fmt::format("disable {}", static_cast<int>(kind)));
  }
  static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                                        CUpti_BuffersCallbackCompleteFunc complete) {
    the_fake->request_ = request;
    the_fake->complete_ = complete;
    return the_fake->note("callbacks");
  }
  static CUptiResult get_timestamp(std::uint64_t* time) {
    *time = the_fake->now();
    return CUPTI_SUCCESS;
  }
  static CUptiResult flush_all(std::uint32_t flag) {
    const CUptiResult result = the_fake->note(fmt::format("flush {}", flag));
    if (result == CUPTI_SUCCESS) the_fake->flush(flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    return result;
  }
  // Of kernels alone, each as long as the library says. As of CUDA 13.2: one that was not completed is no end.
  static CUptiResult get_next_record(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
    the_fake->note("next");
    const auto offset =
        *record == nullptr ? 0 : reinterpret_cast<std::uint8_t*>(*record) - buffer + the_fake->kernel_bytes;
    if (offset + the_fake->kernel_bytes > bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    auto* const next = reinterpret_cast<CUpti_Activity*>(buffer + offset);
    if (next->kind == CUPTI_ACTIVITY_KIND_INVALID) return CUPTI_ERROR_INVALID_KIND;
    *record = next;
    return CUPTI_SUCCESS;
  }
  static CUptiResult get_num_dropped(CUcontext, std::uint32_t stream, std::size_t* dropped) {
    const std::lock_guard lock(the_fake->mutex_);
    *dropped = std::exchange(stream == kStream ? the_fake->dropped_of_stream_ : the_fake->dropped_, 0);
    return CUPTI_SUCCESS;
  }
  static CUptiResult push(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
    const CUptiResult result = the_fake->note(fmt::format("push {} {}", static_cast<int>(kind), id));
    const std::lock_guard lock(the_fake->mutex_);
    the_fake->operations_[std::this_thread::get_id()].push_back(id);
    return result;
  }
  static CUptiResult pop(CUpti_ExternalCorrelationKind, std::uint64_t*) {
    const CUptiResult result = the_fake->note("pop");
    const std::lock_guard lock(the_fake->mutex_);
    auto& open = the_fake->operations_[std::this_thread::get_id()];
    if (open.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
    open.pop_back();
    return result;
  }
  static CUptiResult runtime_api(CUpti_CallbackId id, std::uint8_t enable) {
    return the_fake->note(fmt::format("runtime {} {}", id, enable != 0 ? "on" : "off"));
  }
  static CUptiResult driver_api(CUpti_CallbackId id, std::uint8_t enable) {
    return the_fake->note(fmt::format("driver {} {}", id, enable != 0 ? "on" : "off"));
  }
  static CUptiResult all_sync_records(std::uint8_t enable) {
    return the_fake->note(fmt::format("all_sync {}", enable));
  }
  static CUresult driver_version(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
  }
};

FakeCupti::FakeCupti() { the_fake = this; }
FakeCupti::~FakeCupti() { the_fake = nullptr; }

Api FakeCupti::api() const {
  Api api;
  api.library = "synthetic";
  api.get_version = FakeCalls::get_version;
  api.get_result_string = FakeCalls::get_result_string;
  api.subscribe = FakeCalls::subscribe;
  api.unsubscribe = FakeCalls::unsubscribe;
  api.activity_enable = FakeCalls::enable;
  api.activity_disable = FakeCalls::disable;
  api.activity_register_callbacks = FakeCalls::register_callbacks;
  api.get_timestamp = FakeCalls::get_timestamp;
  api.activity_flush_all = FakeCalls::flush_all;
  api.activity_get_next_record = FakeCalls::get_next_record;
  api.activity_get_num_dropped_records = FakeCalls::get_num_dropped;
  api.activity_push_external_correlation_id = FakeCalls::push;
  api.activity_pop_external_correlation_id = FakeCalls::pop;
  if (has_call_selection) {
    api.activity_enable_runtime_api = FakeCalls::runtime_api;
    api.activity_enable_driver_api = FakeCalls::driver_api;
  }
  if (has_all_sync_records) api.activity_enable_all_sync_records = FakeCalls::all_sync_records;
  api.driver_get_version = FakeCalls::driver_version;
  return api;
}

std::vector<std::string> FakeCupti::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::size_t FakeCupti::num_calls(const std::string& call) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count(calls_.begin(), calls_.end(), call));
}

void FakeCupti::fail(const std::string& call, CUptiResult result) {
  const std::lock_guard lock(mutex_);
  failures_[call] = result;
}

CUptiResult FakeCupti::note(const std::string& call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(call);
  if (const auto found = failures_.find(call); found != failures_.end()) return found->second;
  const auto found = failures_.find(call.substr(0, call.find(' ')));
  return found == failures_.end() ? CUPTI_SUCCESS : found->second;
}

bool FakeCupti::fill(const SyntheticBuffer& records, bool is_complete, Filled& filled) {
  std::size_t most_records = 1;
  request_(&filled.buffer, &filled.bytes, &most_records);
  const std::lock_guard lock(mutex_);
  last_request_bytes_ = filled.bytes;
  if (filled.buffer == nullptr || filled.bytes < records.bytes().size()) {
    ++dropped_;
    return false;
  }
  std::memcpy(filled.buffer, records.bytes().data(), records.bytes().size());
  filled.valid_bytes = records.bytes().size();
  filled.is_complete = is_complete;
  return true;
}

void FakeCupti::keep(const SyntheticBuffer& records, bool is_complete) {
  Filled filled;
  if (!fill(records, is_complete, filled)) return;
  const std::lock_guard lock(mutex_);
  filled_.push_back(filled);
}

void FakeCupti::run_and_complete(const SyntheticBuffer& records) {
  Filled filled;
  if (fill(records, true, filled))
    std::thread([&] { complete_(nullptr, kStream, filled.buffer, filled.bytes, filled.valid_bytes); }).join();
}

void FakeCupti::drop_of_stream(std::size_t records) {
  const std::lock_guard lock(mutex_);
  dropped_of_stream_ += records;
}

void FakeCupti::drop(std::size_t records) {
  const std::lock_guard lock(mutex_);
  dropped_ += records;
}

void FakeCupti::complete_foreign(std::uint8_t* buffer, std::size_t bytes) {
  complete_(nullptr, 0, buffer, bytes, bytes);
}

void FakeCupti::complete_with_size(const SyntheticBuffer& records, std::size_t valid_bytes) {
  Filled filled;
  if (fill(records, true, filled)) complete_(nullptr, 0, filled.buffer, filled.bytes, valid_bytes);
}

// The library completes buffers on a worker thread, and the flushing call waits for it.
void FakeCupti::flush(bool forced) {
  std::vector<Filled> completed;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = filled_.begin(); it != filled_.end();) {
      if (!it->is_complete && !forced) {
        ++it;
        continue;
      }
      completed.push_back(*it);
      it = filled_.erase(it);
    }
  }
  std::thread([&] {
    for (const Filled& filled : completed) complete_(nullptr, 0, filled.buffer, filled.bytes, filled.valid_bytes);
  }).join();
}

std::uint64_t FakeCupti::operation() const {
  const std::lock_guard lock(mutex_);
  const auto open = operations_.find(std::this_thread::get_id());
  return open == operations_.end() || open->second.empty() ? 0 : open->second.back();
}

std::uint64_t FakeCupti::now() const { return static_cast<std::uint64_t>(monotonic_ns() + clock_is_ahead_ns); }

}  // namespace underlap::cupti
