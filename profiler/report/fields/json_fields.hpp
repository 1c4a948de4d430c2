// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "platform/json.hpp"
#include "profiler/report/fields/field_wrappers.hpp"
#include "profiler/report/results_reader.hpp"

namespace underlap::report::schema {

using Json = nlohmann::ordered_json;
using AxisValues = std::vector<std::pair<std::string, std::string>>;  ///< stand as an object

template <class T>
concept Map = requires {
  typename T::mapped_type;
};

template <class T>
concept List = requires(T& list) {
  list.emplace_back();
};

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
    object[key] = field.make();
  } else if constexpr (requires { field.json_text; }) {
    object[key] = field.json_text.empty() ? Json() : parse_json_or_discard(field.json_text);
    if (object[key].is_discarded())
      throw std::invalid_argument("write_results: a cell's plan is not JSON: " + field.json_text);
  } else {
    object[key] = encode(field);
  }
}

/// A value as JSON: of a described type an object of its fields, of an enumeration its name (to_string()).
template <class T>
Json encode(const T& value) {
  Json json;
  if constexpr (Described<T>) {
    json = Json::object();
    visit_fields(value, [&](const char* key, const auto& field) { add_field(json, key, field); });
  } else if constexpr (Map<T>) {
    json = Json::object();
    for (const auto& [key, member] : value) json[key] = encode(member);
  } else if constexpr (std::same_as<T, AxisValues>) {
    json = Json::object();
    for (const auto& [axis, of_axis] : value) {
      if (json.contains(axis)) throw std::invalid_argument("write_results: an axis stands twice: " + axis);
      json[axis] = of_axis;
    }
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

// Readers of the enumerations stand with those, as decode(const Cursor&, Enumeration&).
inline void decode(const Cursor& from, bool& value) { value = from.boolean(); }
inline void decode(const Cursor& from, std::string& value) { value = from.string(); }
inline void decode(const Cursor& from, std::int64_t& value) { value = from.integer(); }
inline void decode(const Cursor& from, std::int32_t& value) { value = from.integer32(); }
inline void decode(const Cursor& from, std::uint64_t& value) { value = from.unsigned_integer(); }
inline void decode(const Cursor& from, double& value) { value = from.number(); }

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
  } else if constexpr (std::same_as<T, AxisValues>) {
    for (const auto& [key, member] : from.members()) value.emplace_back(key, member.string());
  } else if constexpr (List<T>) {
    for (const Cursor& element : from.elements()) decode(element, value.emplace_back());
  } else {
    if (!from.is_null()) decode(from, value.emplace());
  }
}

}  // namespace underlap::report::schema
