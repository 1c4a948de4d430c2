// SPDX-License-Identifier: Apache-2.0
#include "tests/profiler/formats/nsys_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace underlap::testing_support {
namespace {

using Columns = std::map<std::string, std::string, std::less<>>;

// Columns that the reader has no use for stand among the others in a real file, so some are here.
const Columns kTables{
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, "
     "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, "
     "launchType INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
     "blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER, graphId INTEGER, tensorSizeMinusOneElements TEXT"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
     "globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, "
     "dstDeviceId INTEGER, graphNodeId INTEGER"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
     "globalPid INTEGER, value INTEGER, bytes INTEGER, graphNodeId INTEGER, memKind INTEGER"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, "
     "correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
     "returnValue INTEGER, callchainId INTEGER"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
     "globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER, eventId INTEGER, eventSyncId INTEGER"},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
     "timestamp INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid "
     "INTEGER, eventId INTEGER, eventSyncId INTEGER"},
    {"NVTX_EVENTS",
     "start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, "
     "globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value "
     "INTEGER, doubleValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT"},
    {"META_DATA_CAPTURE", "name TEXT, value TEXT"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, utcTime TEXT, systemClockNs INTEGER"},
    {"ANALYSIS_DETAILS", "globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER"},
    {"NVTX_PAYLOAD_SCHEMA_ENTRIES",
     "domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER, name TEXT, description TEXT, "
     "arrayOrUnionDetail INTEGER, offset INTEGER"},
};

// What earlier versions lack.
const std::map<std::string, std::vector<std::string>, std::less<>> kSince3_25{
    {"CUPTI_ACTIVITY_KIND_KERNEL", {"greenContextId", "tensorSizeMinusOneElements"}},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"greenContextId"}},
};
const std::map<std::string, std::vector<std::string>, std::less<>> kSince3{
    {"CUPTI_ACTIVITY_KIND_KERNEL", {"mangledName", "graphId", "graphNodeId"}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", {"srcDeviceId", "dstDeviceId", "graphNodeId"}},
    {"CUPTI_ACTIVITY_KIND_MEMSET", {"graphNodeId", "memKind"}},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", {"callchainId"}},
    {"NVTX_EVENTS", {"jsonTextId", "jsonText", "binaryData", "endGlobalTid"}},
};

std::string without(std::string columns, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::size_t at = columns.find(", " + name + " ");
    if (at == std::string::npos) throw std::runtime_error("no column " + name);
    const std::size_t end = columns.find(", ", at + 2);
    columns.erase(at, end == std::string::npos ? end : end - at);
  }
  return columns;
}

std::string literal(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::string blob_literal(std::string_view bytes) {
  std::string digits = "x'";
  for (const char c : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits + "'";
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

constexpr int kMemberSchema = 16777218, kGatherSchema = 16777220, kPeerSchema = 16777226;

std::string with_header(int schema, const std::string& body) {
  return little_endian(1, 8) + little_endian(static_cast<std::uint64_t>(schema), 8) + little_endian(body.size(), 8) +
         little_endian(32 + body.size(), 8) + body;
}

}  // namespace

NsysFile::NsysFile(const std::filesystem::path& path, Schema schema, int page_bytes) : schema_(schema) {
  if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) throw std::runtime_error("sqlite3_open failed");
  run(fmt::format("PRAGMA page_size = {}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", page_bytes));
  run("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
}

NsysFile::~NsysFile() { sqlite3_close(handle_); }

void NsysFile::run(const std::string& sql) {
  char* message = nullptr;
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string text = message == nullptr ? "SQLite failed" : message;
  sqlite3_free(message);
  throw std::runtime_error(text + ": " + sql);
}

std::int64_t NsysFile::string(std::string_view text) {
  const auto [found, is_new] = strings_.emplace(text, static_cast<std::int64_t>(strings_.size()) + 1);
  if (is_new) run(fmt::format("INSERT INTO StringIds VALUES ({}, {})", found->second, literal(text)));
  return found->second;
}

void NsysFile::need(const std::string& table) {
  if (std::ranges::find(tables_, table) != tables_.end()) return;
  std::string columns = kTables.at(table);
  if (schema_ != Schema::v3_25 && kSince3_25.contains(table)) columns = without(columns, kSince3_25.at(table));
  if (schema_ == Schema::v2_3 && kSince3.contains(table)) columns = without(columns, kSince3.at(table));
  run(fmt::format("CREATE TABLE {} ({})", table, columns));
  tables_.push_back(table);
  if (table != "NVTX_PAYLOAD_SCHEMA_ENTRIES") return;
  // As in a real file; the first field has no offset.
  struct Entry {
    int schema, type;
    std::string name, offset;
  };
  int idx = 0;
  for (const auto& [schema, type, name, offset] :
       std::vector<Entry>{{kMemberSchema, 18, "NCCL communicator ID", "NULL"},
                          {kMemberSchema, 5, "No. of ranks", "8"},
                          {kMemberSchema, 5, "Rank", "12"},
                          {kMemberSchema, 5, "CUDA device", "16"},
                          {kGatherSchema, 18, "NCCL communicator ID", "NULL"},
                          {kGatherSchema, 22, "Message size [bytes]", "8"},
                          {kPeerSchema, 18, "NCCL communicator ID", "NULL"},
                          {kPeerSchema, 22, "Message size [bytes]", "8"},
                          {kPeerSchema, 5, "Peer rank", "16"}})
    run(fmt::format("INSERT INTO {} VALUES (1, {}, {}, NULL, {}, {}, NULL, NULL, {})", table, schema, idx++, type,
                    literal(name), offset));
}

void NsysFile::insert(const std::string& table, const Work& work, std::string_view columns, const std::string& values) {
  need(table);
  run(fmt::format(
      "INSERT INTO {} (start, end, deviceId, contextId, streamId, correlationId, globalPid, {}) VALUES ({}, {}, {}, 1, "
      "{}, {}, {}, {})",
      table, columns, work.start, work.end, work.device, work.stream, work.correlation, global(work.pid), values));
}

void NsysFile::kernel(const Work& work) {
  insert("CUPTI_ACTIVITY_KIND_KERNEL", work,
         "demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ",
         fmt::format("{}, {}, 32, 4, 2, 1, 128, 1, 1", string(work.name),
                     string(work.name.substr(0, work.name.find('(')))));
}

void NsysFile::copy(const Work& work, std::int64_t copy_kind) {
  insert("CUPTI_ACTIVITY_KIND_MEMCPY", work, "bytes, copyKind, srcKind, dstKind",
         fmt::format("{}, {}, 2, 2", work.bytes, copy_kind));
}

void NsysFile::memset(const Work& work) {
  insert("CUPTI_ACTIVITY_KIND_MEMSET", work, "value, bytes", fmt::format("0, {}", work.bytes));
}

void NsysFile::graph(const Work& work, std::int64_t graph_id) {
  insert("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", work, "graphId, graphExecId", fmt::format("{}, 1", graph_id));
}

void NsysFile::call(const Call& call) {
  need("CUPTI_ACTIVITY_KIND_RUNTIME");
  run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, "
                  "returnValue) VALUES ({}, {}, 0, {}, {}, {}, 0)",
                  call.start, call.end, global(call.pid, call.tid), call.correlation, string(call.name)));
}

void NsysFile::range(const Range& range) {
  need("NVTX_EVENTS");
  std::string columns = "start, end, eventType, text, textId, globalTid, domainId";
  std::string values = fmt::format(
      "{}, {}, {}, {}, {}, {}, {}", range.start, range.end ? fmt::format("{}", *range.end) : "NULL", range.type,
      range.registered ? "NULL" : literal(range.text),
      range.registered ? fmt::format("{}", string(range.text)) : "NULL", global(range.pid, range.tid), range.domain);
  if (!range.payload.empty()) {
    columns += ", binaryData";
    values += ", " + blob_literal(range.payload);
  }
  if (!range.json.empty()) {
    columns += ", jsonText";
    values += ", " + literal(range.json);
  }
  run(fmt::format("INSERT INTO NVTX_EVENTS ({}) VALUES ({})", columns, values));
}

void NsysFile::nccl(std::string_view name, std::int64_t start, std::int64_t end, const std::string& payload,
                    std::int64_t pid) {
  need("NVTX_PAYLOAD_SCHEMA_ENTRIES");
  range({.start = start,
         .end = end,
         .text = std::string(name),
         .pid = pid,
         .tid = pid,
         .domain = 1,
         .registered = true,
         .payload = payload});
}

void NsysFile::wait(const Wait& wait) {
  need("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
  run(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, syncType, eventId, eventSyncId) VALUES ({}, {}, 0, 1, {}, {}, {}, {}, 1, {})",
      wait.start, wait.end, wait.stream, wait.correlation, global(wait.pid), wait.type, wait.event_sync_id));
}

void NsysFile::record(std::int64_t event_sync_id, std::int64_t stream, std::int64_t correlation, std::int64_t pid) {
  need("CUPTI_ACTIVITY_KIND_CUDA_EVENT");
  run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 0, 1, {}, {}, {}, 1, {})", stream, correlation,
                  global(pid), event_sync_id));
}

void NsysFile::environment(const std::string& line) {
  need("META_DATA_CAPTURE");
  run("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', " + literal(line) + ")");
}

void NsysFile::session(std::int64_t unix_ns, std::int64_t start_ns) {
  need("TARGET_INFO_SESSION_START_TIME");
  need("ANALYSIS_DETAILS");
  run(fmt::format("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({}, '', {})", unix_ns, start_ns));
  run(fmt::format("INSERT INTO ANALYSIS_DETAILS VALUES (0, 1000, {}, {})", start_ns, start_ns + 1000));
}

std::string nccl_member(std::uint64_t communicator, std::int32_t num_ranks, std::int32_t rank, std::int32_t device) {
  return with_header(kMemberSchema, little_endian(communicator, 8) +
                                        little_endian(static_cast<std::uint32_t>(num_ranks), 4) +
                                        little_endian(static_cast<std::uint32_t>(rank), 4) +
                                        little_endian(static_cast<std::uint32_t>(device), 4) + little_endian(0, 4));
}

std::string nccl_gather(std::uint64_t communicator, std::uint64_t bytes) {
  return with_header(kGatherSchema, little_endian(communicator, 8) + little_endian(bytes, 8));
}

std::string nccl_peer(std::uint64_t communicator, std::uint64_t bytes, std::int32_t peer) {
  return with_header(kPeerSchema, little_endian(communicator, 8) + little_endian(bytes, 8) +
                                      little_endian(static_cast<std::uint32_t>(peer), 4) + little_endian(0, 4));
}

}  // namespace underlap::testing_support
