// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace underlap::testing_support {

/// Writes Perfetto packets as other programs do, without interning unless it is asked for.
class PftraceFile {
 public:
  using Value = std::variant<std::int64_t, std::string, std::vector<std::int64_t>>;
  using Arguments = std::vector<std::pair<std::string, Value>>;

  struct Slice {
    std::uint64_t track = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::string name;
    std::string category = "";
    Arguments arguments = {};
    std::vector<std::uint64_t> flows = {};
    std::vector<std::uint64_t> stages = {};  ///< event ids of the work that it launches
  };

  /// Numbers that name interned texts: 0 is none.
  struct Stage {
    std::uint64_t event_id = 0;
    std::int64_t start = 0;
    std::int64_t duration = 0;
    std::uint64_t stage = 0;
    std::uint64_t queue = 0;
    std::uint64_t name = 0;
    std::uint64_t kernel = 0;
    std::int64_t gpu = 0;
    std::vector<std::pair<std::string, std::string>> extra = {};
    std::vector<std::uint64_t> grid = {};
  };

  struct Clock {
    std::uint64_t id = 0;
    std::uint64_t timestamp = 0;
    bool is_incremental = false;
  };

  enum class Table : std::uint8_t { categories = 1, names = 2, keys = 3, stages = 24, texts = 29 };

  void process(std::uint64_t uuid, std::int64_t pid, const std::string& name);
  void thread(std::uint64_t uuid, std::uint64_t parent, std::int64_t pid, std::int64_t tid, const std::string& name);
  void track(std::uint64_t uuid, std::uint64_t parent, const std::string& name);
  /// Starts new interned data.
  void intern(std::initializer_list<std::pair<Table, std::pair<std::uint64_t, std::string>>> entries,
              std::initializer_list<std::pair<std::uint64_t, std::string>> kernels = {});
  /// Packets without a clock are on `default_clock` from here on; 0: as before.
  void clocks(std::initializer_list<Clock> clocks, std::uint64_t default_clock = 0);
  void begin(const Slice&, std::uint64_t clock = 0);
  void end(const Slice&, std::uint64_t clock = 0);
  void slice(const Slice& slice) { begin(slice), end(slice); }
  void stage(const Stage&);
  /// Any packet.
  void packet(const std::string& message);

  std::string bytes;
};

/// Compresses bytes as packets inside a packet are.
inline std::string zlib_stream(const std::string& plain) {
  uLongf length = ::compressBound(plain.size());
  std::string zlib(length, '\0');
  ::compress(reinterpret_cast<Bytef*>(zlib.data()), &length, reinterpret_cast<const Bytef*>(plain.data()),
             plain.size());
  zlib.resize(length);
  return zlib;
}

}  // namespace underlap::testing_support
