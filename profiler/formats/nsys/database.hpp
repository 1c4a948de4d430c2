// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace underlap::formats::nsys {

struct CloseDatabase {
  void operator()(sqlite3*) const;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt*) const;
};

/// An SQLite file without any of Nsight Systems' tables.
class ForeignDatabase : public std::invalid_argument {
 public:
  ForeignDatabase(const std::string& message, std::set<std::string> of_file)
      : std::invalid_argument(message), tables(std::move(of_file)) {}

  std::set<std::string> tables;
};

/// An SQLite file, opened without writing any files and without taking a lock.
///
/// Only plain tables of its schema are used: a view or a virtual table of a foreign file would run code from that file.
class Database {
 public:
  /// Throws std::invalid_argument for what is no SQLite file; ForeignDatabase for one without Nsight Systems' tables;
  /// MachineError
  /// where SQLite fails.
  explicit Database(const std::filesystem::path&);

  bool has(const std::string& table) const { return tables_.contains(table); }
  bool has(const std::string& table, const std::string& column) const;
  /// Whether `column` is the key by which rows are found at once.
  bool is_key(const std::string& table, const std::string& column) const;
  /// About how many rows a table has, read at once; never more than the file can hold.
  std::size_t about_rows(const std::string& table) const;
  std::size_t bytes() const { return bytes_; }
  /// The difference between the size in the file's header and the file's length.
  std::size_t missing_bytes() const { return missing_bytes_; }
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Table {
    std::set<std::string> columns;
    std::string key;
  };

  void read_schema();

  std::filesystem::path path_;
  std::size_t bytes_ = 0;
  std::size_t missing_bytes_ = 0;
  std::unique_ptr<sqlite3, CloseDatabase> handle_;
  std::map<std::string, Table> tables_;
};

/// The rows of one table, in the order in which the file has them. A table or a column that is not there gives no rows,
/// or no values: Nsight Systems writes only what was captured, and each version some columns more.
class Rows {
 public:
  /// `columns` are taken by their place in that list from here on. `only` is an SQL condition; "" takes all rows.
  Rows(const Database&, const std::string& table, std::span<const char* const> columns, std::string_view only);
  Rows(const Database& database, const std::string& table, std::initializer_list<const char*> columns,
       std::string_view only = "")
      : Rows(database, table, std::span(columns.begin(), columns.size()), only) {}

  /// Goes to the next row; false at the end, or where the file cannot be read any further (fault()).
  /// Throws std::bad_alloc.
  bool next();
  /// Why the rows end early; "" where they do not.
  const std::string& fault() const { return fault_; }

  /// Begins anew, with `value` for ?1 in the condition.
  void restart(std::int64_t value);

  bool is_null(int column) const;
  /// nullopt for what is no integer.
  std::optional<std::int64_t> integer(int column) const;
  std::int64_t integer_or(int column, std::int64_t otherwise) const { return integer(column).value_or(otherwise); }
  /// "" for what is no text. Valid until next().
  std::string_view text(int column);
  /// The bytes of a blob or a text, empty for anything else. Valid until next().
  std::span<const std::byte> blob(int column);

 private:
  bool fail(std::string reason);
  std::string_view taken(const void* data, int bytes);

  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
  sqlite3* handle_ = nullptr;
  std::size_t most_ = 0;  ///< bytes of the file: neither rows nor the bytes of their texts are more
  std::size_t rows_ = 0;
  std::size_t taken_ = 0;
  bool ended_ = false;
  std::string fault_;
};

/// Whether the file itself begins as an SQLite database does.
bool is_sqlite(std::string_view begin);

}  // namespace underlap::formats::nsys
