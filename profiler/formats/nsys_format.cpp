// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "platform/memory_room.hpp"
#include "profiler/formats/format.hpp"
#include "profiler/formats/nsys/nccl.hpp"
#include "profiler/formats/unreadable.hpp"

namespace underlap::formats {
namespace nsys {
namespace {

constexpr double kGigabyte = 1e9;

// A trace takes about as much memory as its rows take of the file.
void require_room_for_rows(const std::filesystem::path& path, std::size_t bytes) {
  const Room room = memory_room();
  if (static_cast<std::int64_t>(bytes) <= room.amount) return;
  throw std::invalid_argument(
      fmt::format("{}: reading {:.3g} GB needs about as much memory, but {:.3g} GB are free. Read it on a machine with "
                  "more, or export only a part: nsys export --times",
                  path.string(), static_cast<double>(bytes) / kGigabyte, static_cast<double>(room.amount) / kGigabyte));
}

void mention_what_is_missing(const std::filesystem::path& path, Import& import) {
  if (import.database().missing_bytes() > 0)
    import.skip(fmt::format("truncated file: {} bytes are missing", import.database().missing_bytes()));
  for (const char* suffix : {"-wal", "-journal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path.string() + suffix, error);
    if (!error && size > 0) import.skip(fmt::format("log next to the file ({}): its contents are not read", suffix));
  }
}

void reserve(Import& import) { import.trace.reserve(std::min(import.about_rows(), import.database().bytes() / 20)); }

std::string text_of(const Database& database, const std::string& table, std::string_view only) {
  Rows rows(database, table, {"value"}, only);
  return rows.next() ? std::string(rows.text(0).substr(0, 200)) : std::string();
}

// EXPORT_PRODUCT_VERSION|2026.2.1.210, EXPORT_SCHEMA_VERSION|3.25.0, CUDA_GRAPH_TRACE_OPTIONS:MODE|Graph
void read_metadata(Import& import) {
  const Database& database = import.database();
  const auto set = [&](const char* key, std::string value) {
    if (!value.empty()) import.trace.metadata[key] = std::move(value);
  };
  set("nsys_version", text_of(database, "META_DATA_EXPORT", "name = 'EXPORT_PRODUCT_VERSION'"));
  set("nsys_schema", text_of(database, "META_DATA_EXPORT", "name = 'EXPORT_SCHEMA_VERSION'"));
  set("cuda_graph_trace", text_of(database, "META_DATA_CAPTURE", "name = 'CUDA_GRAPH_TRACE_OPTIONS:MODE'"));
  Rows gpus(database, "TARGET_INFO_GPU", {"name"});
  if (gpus.next()) set("device_name", std::string(gpus.text(0).substr(0, 200)));
}

void advise(Import& import, const std::vector<NcclCall>& calls) {
  std::vector<std::string> advice;
  const bool has_payload = std::ranges::any_of(calls, [](const NcclCall& call) { return call.payload.has_value(); });
  if (!calls.empty() && !has_payload)
    advice.emplace_back(
        "the export lacks NCCL payloads, so communicators and message sizes are unknown; export the report again: nsys "
        "export --type=sqlite --include-blobs=true --force-overwrite=true --output=NEW.sqlite REPORT.nsys-rep");
  if (import.trace.metadata.contains("cuda_graphs"))
    advice.emplace_back(
        "CUDA graphs were traced as a whole, so their communication is unknown; record again with: nsys profile "
        "--cuda-graph-trace=node");
  if (!advice.empty()) import.trace.metadata["advice"] = fmt::format("{}", fmt::join(advice, "; "));
}

// Reads an SQLite export of Nsight Systems, of any schema from 2.x to 3.25.
//
// Kernels, copies and memsets are on their streams, with flows from the calls that launched them. Calls, NVTX ranges
// and marks are on threads. Waits for an event are on their stream, with flows from the work that they wait for if the
// recorded event is in the file. Times are absolute if the file has the start of its session.
// Each process and device is a rank. The number comes from NCCL's payloads, the environment or an NVTX label, else it
// is a number by device and process (metadata "rank" = "assumed"). NCCL's kernels have communication records if its
// payloads were exported; if not, metadata "advice" explains how to export them.
// Unusable data is counted in Trace::import by reason. Writes no files.
// Throws std::invalid_argument if the file is not such an export, has nothing that can be used, or is larger than the
// free memory; MachineError if SQLite cannot open it; Cancelled.
Trace read_export(const std::filesystem::path& path, Reading& reading) {
  const Database database(path);
  require_room_for_rows(path, database.bytes());
  Import import(database, reading);
  mention_what_is_missing(path, import);
  reserve(import);
  read_metadata(import);
  read_device_work(import);
  const std::vector<std::uint32_t> call_of_work = read_calls(import);
  std::vector<NcclCall> nccl_calls = read_ranges(import);
  read_waits(import);
  if (import.trace.size() == 0)
    throw std::invalid_argument(fmt::format(
        "{}: an Nsight Systems export without kernels, calls or ranges{}; record with `nsys profile --trace=cuda,nvtx`",
        path.string(),
        import.trace.import.skipped.empty()
            ? ""
            : " that can be read (" + import.trace.import.skipped.begin()->first + ")"));
  advise(import, nccl_calls);
  const Communicators communicators = communicators_of(nccl_calls);
  reading.check();
  const Ranks ranks(import, communicators);
  add_communication(import, std::move(nccl_calls), call_of_work, communicators, ranks);
  reading.check();
  ranks.apply(import);
  return std::move(import.trace);
}

Trace read(const std::filesystem::path& path, Reading& reading) {
  try {
    return read_export(path, reading);
  } catch (const ForeignDatabase& database) {
    const std::string what = unreadable_database(database.tables);
    if (what.empty()) throw;
    throw std::invalid_argument(path.string() + ": " + what);
  }
}

}  // namespace
}  // namespace nsys

Format nsys_format() {
  return {.name = "nsys",
          .extension = ".sqlite",
          .description = "Nsight Systems, written by `nsys export --type=sqlite --include-blobs=true`",
          .sniff = nsys::is_sqlite,
          .read = nsys::read,
          .write = nullptr};
}

}  // namespace underlap::formats
