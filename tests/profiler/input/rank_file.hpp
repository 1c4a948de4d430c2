// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace underlap::testing_support {

/// The file of one rank as PyTorch's profiler writes it. Times are in microseconds; `args` are further arguments, as
/// JSON members with a comma in front.
class RankFile {
 public:
  explicit RankFile(std::string members = R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8})")
      : members_(std::move(members)) {}

  RankFile& step(int number, double ts, double dur) {
    return add("user_annotation", fmt::format("ProfilerStep#{}", number), 900, 900, ts, dur, "");
  }
  RankFile& host(std::string_view name, double ts, double dur, std::string_view args = "", int tid = 900,
                 std::string_view category = "cpu_op") {
    return add(category, name, 900, tid, ts, dur, args);
  }
  /// A call of the runtime; `correlation` links it to the work that it launches.
  RankFile& call(std::string_view name, double ts, double dur, int correlation, std::string_view args = "") {
    return add("cuda_runtime", name, 900, 900, ts, dur, fmt::format(R"(, "correlation": {}{})", correlation, args));
  }
  RankFile& work(std::string_view category, std::string_view name, int stream, double ts, double dur, int correlation,
                 std::string_view args = "") {
    return add(category, name, 0, stream, ts, dur,
               fmt::format(R"(, "device": 0, "stream": {}, "correlation": {}{})", stream, correlation, args));
  }
  RankFile& kernel(std::string_view name, int stream, double ts, double dur, int correlation,
                   std::string_view args = "") {
    return work("kernel", name, stream, ts, dur, correlation, args);
  }
  /// A kernel that was launched 20 us before it starts.
  RankFile& launched(std::string_view name, int stream, double ts, double dur, int correlation,
                     std::string_view args = "") {
    call("cudaLaunchKernel", ts - 20, 4, correlation);
    return kernel(name, stream, ts, dur, correlation, args);
  }
  std::string text() const {
    return fmt::format("{{\"schemaVersion\": 1, {}, \"traceEvents\": [\n{}\n]}}", members_, events_);
  }

 private:
  RankFile& add(std::string_view category, std::string_view name, int pid, int tid, double ts, double dur,
                std::string_view args) {
    events_ += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"n": 0{}}}}})",
        events_.empty() ? "" : ",\n", category, name, pid, tid, ts, dur, args);
    return *this;
  }

  std::string members_;
  std::string events_;
};

}  // namespace underlap::testing_support
