// SPDX-License-Identifier: Apache-2.0
#include "platform/fields/json_cursor.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "platform/problems.hpp"

namespace underlap::fields {
namespace {

// RFC 6901: "~" and "/" inside a key are written "~0" and "~1".
std::string escaped(const std::string& key) {
  if (key.find_first_of("~/") == std::string::npos) return key;
  std::string token;
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

}  // namespace

void Cursor::fail(const std::string& complaint) const {
  const std::string whose = named_ == nullptr ? "" : fmt::format(" (of {})", json_text(named_->at("name")));
  throw std::invalid_argument(
      fmt::format("{}: {} {}{}", file_, pointer_.empty() ? "the document" : pointer_, complaint, whose));
}

void Cursor::fail_type(const char* expected) const {
  fail(fmt::format("is {}, must be {}", value_->type_name(), expected));
}

Cursor Cursor::child(const nlohmann::ordered_json& value, const std::string& token) const {
  Cursor cursor(value, file_, numbers_);
  cursor.pointer_.reserve(pointer_.size() + 1 + token.size());  // of each value of a file that has millions
  cursor.pointer_.append(pointer_).append(1, '/').append(token);
  cursor.named_ = named_;
  return cursor;
}

Cursor Cursor::at(const std::string& key) const {
  if (!value_->is_object()) fail_type("object");
  const auto member = value_->find(key);
  if (member == value_->end()) fail(fmt::format("has no \"{}\"", key));
  return child(*member, escaped(key));
}

std::vector<Cursor> Cursor::elements() const {
  if (!value_->is_array()) fail_type("array");
  std::vector<Cursor> result;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    const nlohmann::ordered_json& value = (*value_)[i];
    Cursor& element = result.emplace_back(child(value, std::to_string(i)));
    if (value.is_object() && value.contains("name") && value.at("name").is_string()) element.named_ = &value;
  }
  return result;
}

std::vector<std::pair<std::string, Cursor>> Cursor::members() const {
  if (!value_->is_object()) fail_type("object");
  std::vector<std::pair<std::string, Cursor>> result;
  for (const auto& [key, member] : value_->items()) result.emplace_back(key, child(member, escaped(key)));
  return result;
}

bool Cursor::boolean() const {
  if (!value_->is_boolean()) fail_type("boolean");
  return value_->get<bool>();
}

std::string Cursor::string() const {
  if (!value_->is_string()) fail_type("string");
  return value_->get<std::string>();
}

std::int64_t Cursor::integer() const {
  if (!value_->is_number_integer()) fail(fmt::format("is {}, must be a whole number", json_text(*value_)));
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    fail(fmt::format("is {}, exceeds the largest 64-bit integer", json_text(*value_)));
  return value_->get<std::int64_t>();
}

std::int32_t Cursor::integer32() const {
  const std::int64_t wide = integer();
  const auto narrow = static_cast<std::int32_t>(wide);
  if (narrow != wide) fail(fmt::format("is {}, outside the range of 32-bit integers", wide));
  return narrow;
}

std::uint64_t Cursor::unsigned_integer() const {
  if (!value_->is_number_unsigned()) fail(fmt::format("is {}, must be a whole number from 0", json_text(*value_)));
  return value_->get<std::uint64_t>();
}

double Cursor::number() const {
  if (value_->is_number()) return value_->get<double>();
  if (numbers_ == Numbers::finite && (*value_ == "NaN" || *value_ == "Infinity" || *value_ == "-Infinity"))
    fail("is not a number");
  if (*value_ == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (*value_ == "Infinity") return std::numeric_limits<double>::infinity();
  if (*value_ == "-Infinity") return -std::numeric_limits<double>::infinity();
  fail_type("number");
}

void check_schema(const Cursor& schema, std::string_view expected, std::string_view what_is_read) {
  const std::string name = schema.string();
  if (name == expected) return;
  if (name.starts_with(expected.substr(0, expected.find('/') + 1)))
    schema.fail(
        fmt::format("is {}, from another version of Underlap; this one reads {}", yaml::in_quotes(name), what_is_read));
  schema.fail(fmt::format("is {}, must be \"{}\"", yaml::in_quotes(name), expected));
}

}  // namespace underlap::fields
