// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/json.hpp"

namespace underlap::fields {

/// A place in a JSON document that knows its file, its JSON pointer and the innermost element around it that has a
/// name, such as a cell, so that every complaint names them. All readers throw std::invalid_argument through fail()
/// where the value has another type or does not fit.
class Cursor {
 public:
  enum class Numbers : std::uint8_t { any, finite };

  Cursor(const nlohmann::ordered_json& value, std::string file, Numbers numbers = Numbers::any)
      : value_(&value), file_(std::move(file)), numbers_(numbers) {}

  [[noreturn]] void fail(const std::string& complaint) const;

  Cursor at(const std::string& key) const;
  bool has(const std::string& key) const { return value_->is_object() && value_->contains(key); }
  std::vector<Cursor> elements() const;
  std::vector<std::pair<std::string, Cursor>> members() const;

  bool is_null() const { return value_->is_null(); }
  bool boolean() const;
  std::string string() const;
  std::int64_t integer() const;
  std::int32_t integer32() const;
  std::uint64_t unsigned_integer() const;
  /// A number, or, unless only finite ones are read, one of "NaN", "Infinity" and "-Infinity".
  double number() const;
  /// The value as compact JSON text.
  std::string dump() const { return json_text(*value_); }

 private:
  Cursor child(const nlohmann::ordered_json& value, const std::string& token) const;
  [[noreturn]] void fail_type(const char* expected) const;

  const nlohmann::ordered_json* value_;
  std::string file_;
  std::string pointer_ = {};
  Numbers numbers_;
  const nlohmann::ordered_json* named_ = nullptr;  // the element around it that has a "name"
};

/// Throws std::invalid_argument unless a document's schema is `expected`, "underlap.gate/1". Of another version it
/// names `what_is_read`.
void check_schema(const Cursor& schema, std::string_view expected, std::string_view what_is_read);

}  // namespace underlap::fields
