// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler/collect/cupti/api.hpp"
#include "tests/profiler/collect/cupti/synthetic_buffer.hpp"

namespace underlap::cupti {

// A CUPTI without a GPU: it keeps the order of calls, asks for buffers, fills them with synthetic records and gives
// them back, on threads of its own as the library does. Only one lives at a time.
class FakeCupti {
 public:
  FakeCupti();
  ~FakeCupti();

  Api api() const;

  // The calls so far, such as "enable 10" and "runtime 211 on".
  std::vector<std::string> calls() const;
  std::size_t num_calls(const std::string&) const;
  // From now on `call` (its first word, or all of it) answers `result`.
  void fail(const std::string& call, CUptiResult result);

  // Asks for a buffer and puts `records` in it, as when a program runs: the buffer stays with the library until it is
  // flushed. Records that find no buffer are dropped.
  void run(const SyntheticBuffer& records) { keep(records, true); }
  // What run() does and a flush after it, on a thread of its own: a buffer that was full.
  void run_and_complete(const SyntheticBuffer& records);
  // An incomplete buffer: only a forced flush returns it.
  void leave_incomplete(const SyntheticBuffer& records) { keep(records, false); }
  // Records that the library lost by itself: of the stream whose buffers run_and_complete() returns, or of no stream.
  // The library keeps a count for each, and answers for the one that it is asked about.
  void drop_of_stream(std::size_t records);
  void drop(std::size_t records);
  void complete_foreign(std::uint8_t* buffer, std::size_t bytes);
  void complete_with_size(const SyntheticBuffer& records, std::size_t valid_bytes);

  // The operation of the calling thread; 0: none.
  std::uint64_t operation() const;
  // The library's clock.
  std::uint64_t now() const;
  std::size_t last_request_bytes() const { return last_request_bytes_; }

  std::uint32_t version = 130001;
  std::size_t kernel_bytes = sizeof(CUpti_ActivityKernel10);
  bool has_call_selection = true;
  bool has_all_sync_records = true;
  std::atomic<std::int64_t> clock_is_ahead_ns = 1'700'000'000'000'000'000;  // of CLOCK_MONOTONIC

 private:
  friend struct FakeCalls;
  struct Filled {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0;
    std::size_t valid_bytes = 0;
    bool is_complete = true;
  };
  CUptiResult note(const std::string& call);
  bool fill(const SyntheticBuffer&, bool is_complete, Filled&);
  void keep(const SyntheticBuffer&, bool is_complete);
  void flush(bool forced);

  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::map<std::string, CUptiResult> failures_;
  std::deque<Filled> filled_;
  std::size_t dropped_ = 0;
  std::size_t dropped_of_stream_ = 0;
  std::size_t last_request_bytes_ = 0;
  std::map<std::thread::id, std::vector<std::uint64_t>> operations_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
};

}  // namespace underlap::cupti
