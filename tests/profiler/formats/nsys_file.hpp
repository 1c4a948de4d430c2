// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/formats/format.hpp"
#include "tests/profiler/temporary_folder.hpp"

struct sqlite3;

namespace underlap::testing_support {

/// An export of Nsight Systems, made row by row.
class NsysFile {
 public:
  /// Which of its tables' columns there are.
  enum class Schema { v2_3, v3_11, v3_25 };

  /// Creates the file with the tables that every export has; others come with their first row, as Nsight makes them.
  /// Pages of 512 bytes make small files of many pages; Nsight's have 4096.
  NsysFile(const std::filesystem::path&, Schema = Schema::v3_25, int page_bytes = 512);
  ~NsysFile();
  NsysFile(const NsysFile&) = delete;
  NsysFile& operator=(const NsysFile&) = delete;

  /// Throws std::runtime_error with SQLite's message.
  void run(const std::string& sql);
  /// The id of `text` in StringIds.
  std::int64_t string(std::string_view text);

  struct Work {
    std::int64_t start = 0, end = 0, device = 0, stream = 7, correlation = 0, pid = 100;
    std::string name = "gemm";
    std::int64_t bytes = 0;
  };
  void kernel(const Work&);
  void copy(const Work&, std::int64_t copy_kind = 8);
  void memset(const Work&);
  void graph(const Work&, std::int64_t graph_id);

  struct Call {
    std::int64_t start = 0, end = 0, correlation = 0, pid = 100, tid = 100;
    std::string name = "cudaLaunchKernel_v7000";
  };
  void call(const Call&);

  struct Range {
    std::int64_t start = 0;
    std::optional<std::int64_t> end = {};
    std::string text = {};
    std::int64_t pid = 100, tid = 100, type = 59, domain = 0;
    bool registered = false;   ///< its text is in StringIds
    std::string payload = {};  ///< bytes; "" for none
    std::string json = {};
  };
  void range(const Range&);
  /// A call of NCCL: a range of its domain, with a payload.
  void nccl(std::string_view name, std::int64_t start, std::int64_t end, const std::string& payload,
            std::int64_t pid = 100);

  struct Wait {
    std::int64_t start = 0, end = 0, stream = 7, correlation = 0, pid = 100, event_sync_id = 0, type = 2;
  };
  void wait(const Wait&);
  void record(std::int64_t event_sync_id, std::int64_t stream, std::int64_t correlation, std::int64_t pid = 100);

  void environment(const std::string& line);
  /// When the session began, in Unix time and on the clock of the events.
  void session(std::int64_t unix_ns, std::int64_t start_ns);

  static constexpr std::int64_t global(std::int64_t pid, std::int64_t tid = 0) {
    return 281474976710656 + (pid << 24) + tid;
  }

 private:
  // The table itself, where no row was written yet.
  void need(const std::string& table);
  // A row of work, with what its kind has besides.
  void insert(const std::string& table, const Work&, std::string_view columns, const std::string& values);

  sqlite3* handle_ = nullptr;
  Schema schema_;
  std::map<std::string, std::int64_t, std::less<>> strings_;
  std::vector<std::string> tables_;
};

/// What the reader makes of a file that `fill` filled.
template <class Fill>
Trace read_nsys(Fill fill, NsysFile::Schema schema = NsysFile::Schema::v3_25) {
  const TemporaryFolder folder;
  {
    NsysFile file(folder / "t.sqlite", schema);
    fill(file);
  }
  return formats::read_trace(folder / "t.sqlite");
}

/// Payloads as NCCL makes them, behind the header that Nsight puts before each.
std::string nccl_member(std::uint64_t communicator, std::int32_t num_ranks, std::int32_t rank, std::int32_t device);
std::string nccl_gather(std::uint64_t communicator, std::uint64_t bytes);
std::string nccl_peer(std::uint64_t communicator, std::uint64_t bytes, std::int32_t peer);

}  // namespace underlap::testing_support
