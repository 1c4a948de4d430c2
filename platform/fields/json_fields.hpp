// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "platform/fields/field_wrappers.hpp"
#include "platform/fields/json_cursor.hpp"
#include "platform/input/input_file.hpp"
#include "platform/json.hpp"
#include "platform/problems.hpp"

namespace underlap::fields {

using Json = nlohmann::ordered_json;

inline Json encode(const Json& value) { return value; }

template <class T>
Json encode(const T& value);

template <class T>
void add_field(Json& object, const char* key, const T& field) {
  if constexpr (requires { field.newer; }) {
    object[key] = encode(field.newer);
  } else if constexpr (requires { field.nullable; }) {
    object[key] = field.is_null ? Json() : encode(field.nullable);
  } else if constexpr (requires { field.optional_field; }) {
    if (field.is_present) object[key] = encode(field.optional_field);
  } else if constexpr (requires { field.make; }) {
    object[key] = encode(field.make());
  } else if constexpr (requires { field.pairs; }) {
    object[key] = Json::object();
    for (const auto& [name, value] : field.pairs) {
      if (object[key].contains(name)) throw std::invalid_argument(std::string(key) + " has a duplicate: " + name);
      object[key][name] = encode(value);
    }
  } else if constexpr (requires { field.json_text; }) {
    object[key] = field.json_text.empty() ? Json() : parse_json_or_discard(field.json_text);
    if (object[key].is_discarded()) throw std::invalid_argument(std::string(key) + " is not JSON: " + field.json_text);
  } else {
    object[key] = encode(field);
  }
}

/// All values of an enumeration that counts up from 0 to last_value(Enum). last_value() is declared next to the
/// enumeration.
template <class Enum>
std::vector<Enum> all_values() {
  std::vector<Enum> values;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(last_value(Enum{})); ++i)
    values.push_back(static_cast<Enum>(i));
  return values;
}

Json object_of(const auto& visit) {
  Json json = Json::object();
  visit([&](const char* key, const auto& field) { add_field(json, key, field); });
  return json;
}

/// The key of a map as text.
template <class Key>
std::string key_text(const Key& key) {
  if constexpr (std::is_enum_v<Key>)
    return std::string(to_string(key));
  else if constexpr (std::is_arithmetic_v<Key>)
    return std::to_string(key);
  else
    return key;
}

/// A value as JSON: of a described type an object of its fields, of an enumeration its name (to_string()).
template <class T>
Json encode(const T& value) {
  Json json;
  if constexpr (Described<T>) {
    json = object_of([&](const auto& field) { visit_fields(value, field); });
  } else if constexpr (requires { value.visit_object; }) {
    if (!value.is_null) json = object_of(value.visit_object);
  } else if constexpr (requires { value.visit_element; }) {
    json = Map<std::remove_cvref_t<decltype(value.elements)>> ? Json::object() : Json::array();
    for (const auto& element : value.elements) {
      Json object = object_of([&](const auto& field) { value.visit_element(element, field); });
      if constexpr (Map<std::remove_cvref_t<decltype(value.elements)>>)
        json[key_text(element.first)] = std::move(object);
      else
        json.push_back(std::move(object));
    }
  } else if constexpr (Map<T>) {
    json = Json::object();
    for (const auto& [key, member] : value) json[key_text(key)] = encode(member);
  } else if constexpr (List<T>) {
    json = Json::array();
    for (const auto& element : value) json.push_back(encode(element));
  } else if constexpr (requires { value.has_value(); }) {
    if (value) json = encode(*value);
  } else if constexpr (std::is_enum_v<T>) {
    json = to_string(value);
  } else if constexpr (std::same_as<T, double>) {
    // JSON has no word for these three, and a diverged loss must come back as it was.
    if (std::isnan(value))
      json = "NaN";
    else if (std::isinf(value))
      json = value > 0 ? "Infinity" : "-Infinity";
    else
      json = value;
  } else {
    json = value;
  }
  return json;
}

inline void decode(const Cursor& from, bool& value) { value = from.boolean(); }
inline void decode(const Cursor& from, std::string& value) { value = from.string(); }
inline void decode(const Cursor& from, std::int64_t& value) { value = from.integer(); }
inline void decode(const Cursor& from, std::int32_t& value) { value = from.integer32(); }
inline void decode(const Cursor& from, std::uint64_t& value) { value = from.unsigned_integer(); }
inline void decode(const Cursor& from, double& value) { value = from.number(); }
inline void decode(const Cursor& from, std::uint16_t& value) {
  const std::int32_t wide = from.integer32();
  value = static_cast<std::uint16_t>(wide);
  if (value != wide) from.fail("is outside the range of unsigned 16-bit integers");
}
inline void decode(const Cursor& from, std::pair<std::string, std::string>& value) {
  const std::vector<Cursor> both = from.elements();
  if (both.size() != 2) from.fail("must have two elements");
  value = {both[0].string(), both[1].string()};
}

/// Throws where a described value that was read contradicts itself.
template <class T>
void check(const Cursor&, const T&) {}

template <class T>
void decode(const Cursor& from, T& value);

template <class T>
void decode_field(const Cursor& from, const char* key, T& field) {
  if constexpr (requires { field.newer; }) {
    if (from.has(key)) decode(from.at(key), field.newer);
  } else if constexpr (requires { field.nullable; }) {
    if (const Cursor at = from.at(key); !at.is_null()) decode(at, field.nullable);
  } else if constexpr (requires { field.optional_field; }) {
    field.is_present = from.has(key);
    if (field.is_present) decode(from.at(key), field.optional_field);
  } else if constexpr (requires { field.pairs; }) {
    for (const auto& [name, member] : from.at(key).members()) decode(member, field.pairs.emplace_back(name, "").second);
  } else if constexpr (requires { field.json_text; }) {
    const Cursor at = from.at(key);
    field.json_text = at.is_null() ? "" : at.dump();
  } else if constexpr (!requires { field.make; }) {
    decode(from.at(key), field);
  }
}

/// The reverse of encode(), which throws std::invalid_argument with the place.
template <class T>
void decode(const Cursor& from, T& value) {
  if constexpr (Described<T>) {
    visit_fields(value, [&](const char* key, auto&& field) { decode_field(from, key, field); });
    check(from, value);
  } else if constexpr (Map<T>) {
    for (const auto& [key, member] : from.members()) decode(member, value[key]);
  } else if constexpr (List<T>) {
    for (const Cursor& element : from.elements()) decode(element, value.emplace_back());
  } else if constexpr (std::is_enum_v<T>) {
    const std::string word = from.string();
    const std::vector<T> values = all_values<T>();
    const auto known = std::ranges::find(values, word, [](T each) { return to_string(each); });
    if (known == values.end()) from.fail("has an unknown value: " + yaml::in_quotes(word));
    value = *known;
  } else {
    if (!from.is_null()) decode(from, value.emplace());
  }
}

/// A document: the name of its schema, and the fields of `value`.
template <Described T>
Json document(std::string_view schema, const T& value) {
  Json json{{"schema", schema}};
  json.update(encode(value));
  return json;
}

template <Described T>
std::string document_text(std::string_view schema, const T& value, int indent = 1) {
  return json_text(document(schema, value), indent) + "\n";
}

/// The reverse; `file` is its name in the std::invalid_argument that it throws.
template <Described T>
T parse_document(std::string_view schema, const Json& document, const std::string& file,
                 const std::string& what_is_read = {}, Cursor::Numbers numbers = Cursor::Numbers::any) {
  const Cursor root(document, file, numbers);
  check_schema(root.at("schema"), schema, what_is_read.empty() ? yaml::in_quotes(schema) : what_is_read);
  T value;
  decode(root, value);
  return value;
}

template <Described T>
T read_document(std::string_view schema, const std::filesystem::path& file,
                const ReadLimits& limits = {.memory_factor = kJsonMemoryFactor}) {
  return parse_document<T>(schema, parse_json_of(file, read_input_file(file, limits)), file.string());
}

}  // namespace underlap::fields
