// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "profiler/collect/cupti/activities.hpp"
#include "profiler/collect/cupti/activity_parser.hpp"
#include "profiler/collect/cupti/buffer_pool.hpp"

namespace underlap::cupti {

/// Activity buffers as CUPTI filled them, kept so that the parser can be tested where there is no GPU.
struct Recording {
  std::uint32_t cupti_version = 0;
  /// What made it: gpu, driver, cupti, command, and origin (recorded).
  std::map<std::string, std::string> about{};
  std::map<std::uint64_t, std::string> names{};  ///< strings that records point to, by their address in that process
  std::vector<std::vector<std::uint8_t>> buffers{};
};

/// A thread that reads completed buffers and gives them back to their pool, so that CUPTI's own threads only hand over.
class ActivityWriter {
 public:
  struct Options {
    std::uint32_t cupti_version = 0;
    ActivityParser::NameAt name_at;
    ActivityParser::NextRecord next_record;
    std::size_t most_buffers = 0;  ///< of the pool
    bool keeps_raw = false;        ///< whether the bytes themselves are kept as well
  };

  /// The pool must outlive the writer. Throws what ActivityParser's constructor throws.
  ActivityWriter(BufferPool&, Options);
  /// Reads what was handed over, then ends the thread.
  ~ActivityWriter();
  ActivityWriter(const ActivityWriter&) = delete;
  ActivityWriter& operator=(const ActivityWriter&) = delete;

  /// Queues a buffer of the pool whose first `valid_bytes` hold records. Allocates nothing, waits for no reading.
  void hand_over(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;

  struct Written {
    Activities activities;
    std::int64_t num_buffers = 0;
    Recording recording;  ///< names and buffers, where raw bytes are kept
  };
  /// Waits until everything that was handed over is read, and takes it. Throws what reading threw.
  Written take();

 private:
  struct Completed {
    std::uint8_t* buffer = nullptr;
    std::size_t valid_bytes = 0;
  };
  void run();
  void read(const Completed&);
  std::optional<NameId> name_at(std::uint64_t address);

  BufferPool& pool_;
  const Options options_;
  const ActivityParser parser_;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable caught_up_;
  std::vector<Completed> queue_;  // room for every buffer of the pool
  std::int64_t num_handed_over_ = 0;
  std::int64_t num_read_ = 0;
  bool is_ending_ = false;
  Written written_;  // the thread's alone while num_read_ < num_handed_over_
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace underlap::cupti
