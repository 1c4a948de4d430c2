// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_host/machine.hpp"

#include <cstdlib>
#include <exception>

namespace underlap::cuda_host {

namespace {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Item watched(Item item, std::function<void(std::int64_t, std::int64_t)> tell) {
  if (item.advance) {
    item.advance = [advance = std::move(item.advance), tell = std::move(tell), start = std::int64_t{0}]() mutable {
      if (start == 0) start = steady_ns();
      const bool is_over = advance();
      if (is_over) tell(start, steady_ns());
      return is_over;
    };
  } else {
    item.run = [run = std::move(item.run), tell = std::move(tell)] {
      const std::int64_t start = steady_ns();
      run();
      tell(start, steady_ns());
    };
  }
  return item;
}

}  // namespace

Machine& Machine::instance() {
  static Machine machine;
  return machine;
}

void Machine::reset(int num_devices, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  num_devices_ = num_devices;
  driver_ = CUDART_VERSION;
  compute_capability = 90;
  event_distance_ms = 1.0F;
  num_sms = 4;
  link_threads = 0;
  waits_for_device = false;
  random_.seed(seed);
  failed_ = false;
  what_.clear();
  calls.clear();
  launched.clear();
  gone_.clear();
  for (const auto& [memory, bytes] : memory_) std::free(memory);  // of those who failed before they could give it back
  memory_.clear();
  shareable_.clear();
  freed_while_open_.clear();
  num_freed_while_open = 0;
  connections = 0;
  kernels_run_together = false;
  watch = {};
  refuses_peer_access = false;
  before_record = {};
  num_streams_of_.clear();
  memory_taken_ = 0;
  memory_bytes_ = std::size_t{4} << 30;
}

void* Machine::take_memory(std::size_t bytes, std::size_t alignment) {
  const std::lock_guard lock(mutex_);
  if (bytes > memory_bytes_ - std::min(memory_taken_, memory_bytes_)) return nullptr;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  std::memset(memory, 0xFF, bytes);
  memory_[memory] = bytes;
  memory_taken_ += bytes;
  return memory;
}

void Machine::give_memory(void* memory) {
  const auto found = memory_.find(memory);
  if (found == memory_.end()) return;
  const auto open = shareable_.find(memory);
  if (open != shareable_.end() && open->second > 0) {
    ++num_freed_while_open;
    freed_while_open_.insert(memory);
    return;
  }
  shareable_.erase(memory);
  memory_taken_ -= found->second;
  memory_.erase(found);
  std::free(memory);
}

bool Machine::open_memory(void* memory) {
  const auto found = shareable_.find(memory);
  if (found == shareable_.end()) return false;
  ++found->second;
  return true;
}

bool Machine::close_memory(void* memory) {
  const auto found = shareable_.find(memory);
  if (found == shareable_.end() || found->second == 0) return false;
  if (--found->second == 0 && freed_while_open_.erase(memory) > 0) give_memory(memory);
  return true;
}

void Machine::set_memory(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_bytes_ = bytes;
}

std::size_t Machine::memory_left() {
  const std::lock_guard lock(mutex_);
  return memory_bytes_ - std::min(memory_taken_, memory_bytes_);
}

void Machine::fail(const std::string& what) {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  what_ = what;
  changed_.notify_all();
}

bool Machine::has_failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

std::ptrdiff_t Machine::count_calls(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return std::ranges::count(calls, name);
}

void Machine::clear_calls() {
  const std::lock_guard lock(mutex_);
  calls.clear();
  launched.clear();
}

CUstream_st* Machine::create_stream(int priority) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(new CUstream_st{.items = {}, .priority = priority, .num_done = 0, .num_enqueued = 0});
  streams_.back()->done_ns.push_back(steady_ns());
  const std::thread::id rank = std::this_thread::get_id();
  const int number = num_streams_of_[rank]++;
  streams_.back()->hardware_queue = {rank, connections > 0 ? number % connections : number};
  return streams_.back();
}

void Machine::destroy_stream(CUstream_st* stream) {
  (void)run_until([&] { return stream->items.empty(); });
  const std::lock_guard lock(mutex_);
  std::erase(streams_, stream);
  gone_.emplace_back(stream);  // events that were recorded on it may be asked for still
}

bool Machine::is_idle() const {
  return std::ranges::all_of(streams_, [](const CUstream_st* stream) { return stream->items.empty(); });
}

std::size_t Machine::num_streams() {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

void Machine::enqueue(CUstream_st* stream, Item item) {
  const std::lock_guard lock(mutex_);
  if (watch && (item.run || item.advance))
    if (auto tell = watch()) item = watched(std::move(item), std::move(tell));
  item.number = num_items_++;
  stream->items.push_back(std::move(item));
  ++stream->num_enqueued;
  changed_.notify_all();
}

bool Machine::has_passed(const CUevent_st& event) const {
  return event.stream == nullptr || event.stream->num_done >= event.position;
}

std::int64_t Machine::passed_at_ns(const CUevent_st& event) const {
  return event.stream == nullptr ? 0 : event.stream->done_ns.at(event.position);
}

std::vector<std::string> Machine::all_calls() {
  const std::lock_guard lock(mutex_);
  return calls;
}

void Machine::run_all_that_may() {
  const std::lock_guard lock(mutex_);
  while (run_one()) continue;
}

// The streams whose first item may begin, or has.
std::vector<CUstream_st*> Machine::able_streams() {
  std::map<std::pair<std::thread::id, int>, std::uint64_t> first;  // that has not begun, by hardware queue
  for (const CUstream_st* stream : streams_) {
    if (connections == 0) break;
    const auto item = std::ranges::find(stream->items, false, &Item::has_begun);
    if (item == stream->items.end()) continue;
    const auto [at, is_new] = first.try_emplace(stream->hardware_queue, item->number);
    if (!is_new) at->second = std::min(at->second, item->number);
  }
  std::vector<CUstream_st*> able;
  for (CUstream_st* stream : streams_) {
    if (stream->items.empty()) continue;
    const Item& item = stream->items.front();
    const bool is_held_up = !item.has_begun && connections > 0 && first.at(stream->hardware_queue) != item.number;
    if (!is_held_up && (item.has_begun || !item.ready || item.ready())) able.push_back(stream);
  }
  return able;
}

bool Machine::run_one() {
  std::vector<CUstream_st*> able = able_streams();
  while (!able.empty()) {
    const auto chosen = able.begin() + static_cast<std::ptrdiff_t>(random_() % able.size());
    if (run_first(**chosen, able)) {
      last_step_ = std::chrono::steady_clock::now();
      changed_.notify_all();
      return true;
    }
    able.erase(chosen);
  }
  return false;
}

// False where it waits for others, now as before.
bool Machine::run_first(CUstream_st& stream, const std::vector<CUstream_st*>& able) {
  Item& item = stream.items.front();
  if (kernels_run_together && item.kernel && !item.has_begun) {
    run_side_by_side(stream, able);
    return true;
  }
  const bool had_begun = std::exchange(item.has_begun, true);
  bool is_over = true;
  try {
    if (item.advance)
      is_over = item.advance();
    else if (item.run)
      item.run();
  } catch (const std::exception& error) {
    failed_ = true;
    what_ = error.what();
  }
  if (!is_over) return !had_begun;
  stream.items.pop_front();
  ++stream.num_done;
  stream.done_ns.push_back(steady_ns());
  return true;
}

void Machine::run_side_by_side(CUstream_st& chosen, const std::vector<CUstream_st*>& able) {
  std::vector<KernelLaunch> launches;
  std::vector<CUstream_st*> streams;
  for (CUstream_st* stream : able) {
    const Item& item = stream->items.front();
    if (stream != &chosen && (!item.kernel || item.has_begun)) continue;
    launches.push_back(*stream->items.front().kernel);
    streams.push_back(stream);
    stream->items.pop_front();
  }
  try {
    run_together(launches, random_);
  } catch (const std::exception& error) {
    failed_ = true;
    what_ = error.what();
  }
  for (CUstream_st* stream : streams) {
    ++stream->num_done;
    stream->done_ns.push_back(steady_ns());
  }
}

// Time that passes while kernels wait for others; false where there are none.
bool Machine::keep_clock() {
  const auto now = std::chrono::steady_clock::now();
  const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(now - std::exchange(last_step_, now));
  const bool waits = std::ranges::any_of(
      streams_, [](const CUstream_st* stream) { return !stream->items.empty() && stream->items.front().has_begun; });
  if (waits) virtual_clock().now_ns += static_cast<unsigned long long>(passed.count());
  return waits;
}

cudaError_t Machine::run_until(const std::function<bool()>& done) {
  constexpr std::chrono::seconds kStandstill{20};
  std::unique_lock lock(mutex_);
  auto last_change = std::chrono::steady_clock::now();
  while (!done() && !failed_) {
    if (run_one()) {
      // Others may want to enqueue what the next item of another stream must be chosen against.
      lock.unlock();
      lock.lock();
      last_change = std::chrono::steady_clock::now();
      continue;
    }
    const std::chrono::milliseconds pause = keep_clock() ? std::chrono::milliseconds(1) : kStandstill;
    if (changed_.wait_for(lock, pause) == std::cv_status::no_timeout) last_change = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - last_change >= kStandstill) return cudaErrorLaunchTimeout;
  }
  return failed_ ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace underlap::cuda_host
