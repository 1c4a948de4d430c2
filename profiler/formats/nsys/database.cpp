// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <new>

#include "platform/errors.hpp"
#include "platform/input/byte_stream.hpp"
#include "platform/memory_room.hpp"

namespace underlap::formats::nsys {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
// A row of the tables that are read has more bytes than this, with its header and its place in the page.
constexpr std::size_t kLeastRowBytes = 20;
constexpr std::array kOwnTables{"StringIds", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS",
                                "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};

std::string as_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string())
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/._-~", c) != nullptr)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return uri + "?mode=ro&immutable=1";
}

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view reason) {
  throw std::invalid_argument(fmt::format("{}: {}", path.string(), reason));
}

constexpr std::size_t kDatabaseHeaderBytes = 100;
using Header = std::array<std::byte, kDatabaseHeaderBytes>;

Header read_header(const std::filesystem::path& path) {
  ByteStream file(path);
  if (file.is_compressed())
    refuse(path, "a compressed SQLite database; decompress it, since SQLite reads the file directly");
  Header header{};
  file.read({reinterpret_cast<char*>(header.data()), header.size()});
  return header;
}

std::uint64_t big_endian(const Header& header, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(header[at + i]);
  return value;
}

// Of https://www.sqlite.org/fileformat.html, section 1.3. The number of pages holds where the file changed last when it
// was written (the counters agree).
// Big-endian: 16-17 size of a page, 24-27 counter of changes, 28-31 number of pages, 92-95 counter at that number.
std::uint64_t bytes_by_header(const Header& header) {
  if (big_endian(header, 24, 4) != big_endian(header, 92, 4)) return 0;
  const std::uint64_t page = big_endian(header, 16, 2);
  return big_endian(header, 28, 4) * (page == 1 ? 65536 : page);
}

// Why a statement failed. SQLite also reports a lack of memory if a damaged record claims a size for which it would not
// even allocate. Throws std::bad_alloc if memory may really have run out.
std::string reason_of(int code, sqlite3* handle, std::uint64_t file_bytes) {
  constexpr std::uint64_t kOwnBytes = std::uint64_t{64} << 20;  // SQLite's own, on any file
  if (code != SQLITE_NOMEM) return sqlite3_errmsg(handle);
  const auto free = static_cast<std::uint64_t>(std::max<std::int64_t>(memory_room().amount, 0));
  if (free < kOwnBytes + 2 * file_bytes) throw std::bad_alloc();
  return "a record has an impossible length";
}

std::string sql_name(std::string_view name) { return fmt::format("\"{}\"", name); }

// Payloads that describe a call are short. SQLite would hold a longer one in memory as a whole.
std::string selected(std::string_view column) {
  if (column != "binaryData" && column != "jsonText") return sql_name(column);
  return fmt::format("CASE WHEN length({0}) <= 65536 THEN {0} END", sql_name(column));
}

}  // namespace

void CloseDatabase::operator()(sqlite3* handle) const { sqlite3_close(handle); }
void FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

bool is_sqlite(std::string_view begin) { return begin.starts_with(kMagic); }

Database::Database(const std::filesystem::path& path) : path_(path) {
  const Header header = read_header(path);
  bytes_ = std::filesystem::file_size(path);
  if (const std::uint64_t expected = bytes_by_header(header); expected > bytes_) missing_bytes_ = expected - bytes_;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(as_uri(path).c_str(), &handle,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK)
    throw MachineError(fmt::format("{}: SQLite cannot open it: {}", path.string(), sqlite3_errstr(code)));
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_exec(handle, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
  read_schema();
  if (std::ranges::any_of(kOwnTables, [&](const char* table) { return has(table); })) return;
  std::set<std::string> tables;
  for (const auto& [name, table] : tables_) tables.insert(name);
  throw ForeignDatabase(
      path.string() +
          ": an SQLite database without Nsight Systems tables; give the output of `nsys export --type=sqlite REPORT`",
      std::move(tables));
}

// CUPTI_ACTIVITY_KIND_KERNEL|start|0|integer, StringIds|id|1|integer
void Database::read_schema() {
  // A virtual table has no root page.
  const char* sql =
      "SELECT m.name, i.name, i.pk, lower(i.type) FROM sqlite_master m, pragma_table_info(m.name) i "
      "WHERE m.type = 'table' AND m.rootpage > 0";
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(handle(), sql, -1, &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(raw);
  const auto text = [&](int column) {
    const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(raw, column));
    return std::string(value == nullptr ? "" : value);
  };
  for (code = code == SQLITE_OK ? sqlite3_step(raw) : code; code == SQLITE_ROW; code = sqlite3_step(raw)) {
    Table& table = tables_[text(0)];
    table.columns.insert(text(1));
    if (sqlite3_column_int(raw, 2) == 1 && text(3) == "integer") table.key = text(1);
  }
  if (code != SQLITE_DONE)
    refuse(path_, fmt::format("an SQLite database with an unreadable schema: {}; export the report again",
                              reason_of(code, handle(), bytes_)));
}

bool Database::has(const std::string& table, const std::string& column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.columns.contains(column);
}

bool Database::is_key(const std::string& table, const std::string& column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.key == column;
}

std::size_t Database::about_rows(const std::string& table) const {
  Rows rows(*this, table, {"rowid"}, "rowid = (SELECT max(rowid) FROM " + sql_name(table) + ")");
  if (!rows.next()) return 0;
  const auto last = static_cast<std::size_t>(std::max<std::int64_t>(rows.integer_or(0, 0), 0));
  return std::min(last, bytes_ / kLeastRowBytes);
}

Rows::Rows(const Database& database, const std::string& table, std::span<const char* const> columns,
           std::string_view only)
    : handle_(database.handle()), most_(database.bytes()) {
  if (!database.has(table)) return;
  std::string sql = "SELECT ";
  for (const char* column : columns) {
    if (sql.size() > 7) sql += ", ";
    const bool there = database.has(table, column) || std::strcmp(column, "rowid") == 0;
    sql += there ? selected(column) : "NULL";
  }
  sql += " FROM " + sql_name(table);
  if (!only.empty()) sql += fmt::format(" WHERE {}", only);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(handle_));
  statement_.reset(statement);
}

bool Rows::fail(std::string reason) {
  fault_ = std::move(reason);
  statement_.reset();
  return false;
}

// A damaged file may lead in circles: what it gives is never more than it holds.
bool Rows::next() {
  if (!statement_ || ended_) return false;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    if (++rows_ > most_ || taken_ > most_) return fail("it has more data than fits in the file");
    return true;
  }
  if (code != SQLITE_DONE) return fail(reason_of(code, handle_, most_));
  ended_ = true;
  return false;
}

void Rows::restart(std::int64_t value) {
  if (!statement_) return;
  sqlite3_reset(statement_.get());
  sqlite3_bind_int64(statement_.get(), 1, value);
  rows_ = taken_ = 0;
  ended_ = false;
}

bool Rows::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::optional<std::int64_t> Rows::integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Rows::taken(const void* data, int bytes) {
  if (data == nullptr || bytes <= 0) return {};
  taken_ += static_cast<std::size_t>(bytes);
  return {static_cast<const char*>(data), static_cast<std::size_t>(bytes)};
}

std::string_view Rows::text(int column) {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return {};
  const void* const data = sqlite3_column_text(statement_.get(), column);
  return taken(data, sqlite3_column_bytes(statement_.get(), column));
}

std::span<const std::byte> Rows::blob(int column) {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type != SQLITE_BLOB && type != SQLITE_TEXT) return {};
  const void* const data = sqlite3_column_blob(statement_.get(), column);
  return std::as_bytes(std::span(taken(data, sqlite3_column_bytes(statement_.get(), column))));
}

}  // namespace underlap::formats::nsys
