// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace underlap::formats::nsys {
namespace {

// What every table of device work begins with.
enum WorkColumn : int { kStart, kEnd, kDevice, kStream, kCorrelation, kProcess, kFirstOwn };

std::vector<const char*> work_columns(std::initializer_list<const char*> own) {
  std::vector<const char*> columns{"start", "end", "deviceId", "streamId", "correlationId", "globalPid"};
  columns.insert(columns.end(), own);
  return columns;
}

template <class Integer>
Integer narrowed(std::optional<std::int64_t> value, Integer otherwise) {
  return value && std::in_range<Integer>(*value) ? static_cast<Integer>(*value) : otherwise;
}

// Adds the current row as a slice; what it is and how large, its table knows.
void add_work(Import& import, const Rows& rows, std::string_view what, NameId name, Kind kind,
              const LaunchShape& shape) {
  ++import.trace.import.events;
  if (rows.integer(kStart) == 0 && rows.integer(kEnd) == 0)  // CUPTI could not collect its times
    return import.skip(fmt::format("{} with times of 0", what));
  const auto span = import.span(rows, what);
  if (!span) return;
  const auto device = rows.integer(kDevice);
  const auto stream = rows.integer(kStream);
  if (!device || narrowed<std::int32_t>(device, -1) < 0) return import.skip(fmt::format("{} without a device", what));
  if (!stream) return import.skip(fmt::format("{} without a stream", what));
  const Process process = process_of(rows.integer_or(kProcess, 0));
  import.device_work.push_back({.process = process,
                                .correlation = narrowed<std::uint32_t>(rows.integer(kCorrelation), 0),
                                .slice = static_cast<std::uint32_t>(import.trace.size())});
  import.add(import.stream_track({process, static_cast<std::int32_t>(*device)}, narrowed<std::int32_t>(stream, -1)),
             *span, name, kind, shape);
}

std::int64_t bytes_of(const Rows& rows, int column) { return std::max<std::int64_t>(rows.integer_or(column, 0), 0); }

std::string_view whole(std::string_view name) { return name; }

// 60111513113|60111701657|1|15|2619582|281477409406976|1366270|1364937|1366243|93600|1|1|128|1|1
void read_kernels(Import& import) {
  const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
  Rows rows(import.database(), table,
            work_columns(
                {"demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"}),
            "");
  Names names(import, whole);
  const auto name_of_row = [&] {
    for (int column = kFirstOwn; column < kFirstOwn + 3; ++column)
      if (const auto id = rows.integer(column)) return names(*id);
    import.skip("unnamed kernel (kept)");
    return kNoName;
  };
  while (import.next(rows)) {
    LaunchShape shape;
    for (int i = 0; i < 3; ++i) {
      shape.grid[static_cast<std::size_t>(i)] = narrowed<std::uint32_t>(rows.integer(kFirstOwn + 3 + i), 0);
      shape.block[static_cast<std::size_t>(i)] = narrowed<std::uint32_t>(rows.integer(kFirstOwn + 6 + i), 0);
    }
    add_work(import, rows, "kernel", name_of_row(), Kind::compute, shape);
  }
  import.end_table(table, rows);
}

constexpr std::array kCopyWords{"",     "HtoD", "DtoH", "HtoA", "AtoH",           "AtoA",           "AtoD",
                                "DtoA", "DtoD", "HtoH", "PtoP", "HtoD (Unified)", "DtoH (Unified)", "DtoD (Unified)"};
constexpr std::array kMemoryWords{"Pageable", "Pinned",        "Device",        "Array",
                                  "Managed",  "Device Static", "Managed Static"};
constexpr std::int64_t kDeviceToDevice = 8;
constexpr std::int64_t kPeerToPeer = 10;

std::string memory_word(std::int64_t kind) {
  return kind >= 0 && kind < static_cast<std::int64_t>(kMemoryWords.size())
             ? kMemoryWords[static_cast<std::size_t>(kind)]
             : "Unknown";
}

// As Kineto calls them, so that names agree between formats.
std::string copy_name(std::int64_t kind, std::int64_t from, std::int64_t to) {
  const bool known = kind > 0 && kind < static_cast<std::int64_t>(kCopyWords.size());
  std::string name = known ? fmt::format("Memcpy {}", kCopyWords[static_cast<std::size_t>(kind)]) : "Memcpy";
  if (from >= 0 && to >= 0) name += fmt::format(" ({} -> {})", memory_word(from), memory_word(to));
  return name;
}

// 60112507799|60112572566|1|15|2619649|281477409406976|8|2|2|95846400|NULL|NULL: "Memcpy DtoD (Device -> Device)"
void read_copies(Import& import) {
  const std::string table = "CUPTI_ACTIVITY_KIND_MEMCPY";
  Rows rows(import.database(), table,
            work_columns({"copyKind", "srcKind", "dstKind", "bytes", "srcDeviceId", "dstDeviceId"}), "");
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, NameId> names;
  while (import.next(rows)) {
    std::int64_t kind = rows.integer_or(kFirstOwn, 0);
    const auto from_device = rows.integer(kFirstOwn + 4);
    const auto to_device = rows.integer(kFirstOwn + 5);
    if (kind == kDeviceToDevice && from_device && to_device && *from_device != *to_device) kind = kPeerToPeer;
    const std::int64_t from = rows.integer_or(kFirstOwn + 1, -1);
    const std::int64_t to = rows.integer_or(kFirstOwn + 2, -1);
    NameId& name = names[{kind, from, to}];
    if (name == kNoName) name = intern(copy_name(kind, from, to));
    add_work(import, rows, "copy", name, Kind::copy, {.bytes = bytes_of(rows, kFirstOwn + 3)});
  }
  import.end_table(table, rows);
}

// 60120797344|60120798080|1|15|2619825|281477409406976|2|4: "Memset (Device)" of 4 bytes
void read_memsets(Import& import) {
  const std::string table = "CUPTI_ACTIVITY_KIND_MEMSET";
  Rows rows(import.database(), table, work_columns({"memKind", "bytes"}), "");
  while (import.next(rows)) {
    const auto kind = rows.integer(kFirstOwn);
    add_work(import, rows, "memset", intern(kind ? fmt::format("Memset ({})", memory_word(*kind)) : "Memset"),
             Kind::copy, {.bytes = bytes_of(rows, kFirstOwn + 1)});
  }
  import.end_table(table, rows);
}

// 60121000000|60141000000|0|7|2620112|281477392629760|3: one row per launch of a graph, here graph 3. It does not show
// the kernels in it, so its communication is unknown.
void read_graphs(Import& import) {
  const std::string table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
  Rows rows(import.database(), table, work_columns({"graphId"}), "");
  const std::size_t first = import.trace.size();
  while (import.next(rows)) {
    const auto id = rows.integer(kFirstOwn);
    add_work(import, rows, "CUDA graph", intern(id ? fmt::format("CUDA graph {}", *id) : "CUDA graph"), Kind::compute,
             {});
  }
  import.end_table(table, rows);
  const NameId reason = intern("CUDA graphs recorded as a whole (record with --cuda-graph-trace=node)");
  for (std::size_t i = first; i < import.trace.size(); ++i)
    import.trace.set_tag(i, import.trace.tag(i), {AttributionSource::unclassified, 0, reason});
  if (import.trace.size() > first)
    import.trace.metadata["cuda_graphs"] = fmt::format("{} launches traced as a whole", import.trace.size() - first);
}

}  // namespace

void read_device_work(Import& import) {
  read_kernels(import);
  read_copies(import);
  read_memsets(import);
  read_graphs(import);
}

}  // namespace underlap::formats::nsys
