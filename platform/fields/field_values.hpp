// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "platform/cbor.hpp"
#include "platform/fields/field_wrappers.hpp"

namespace underlap::fields {

// Messages between processes of one program. Inside a message, a described record is the list of its fields' values,
// without keys: there are thousands of some records.

/// `value` without keys. take() reads it.
template <class T>
nlohmann::json values_of(const T& value) {
  nlohmann::json values;
  if constexpr (Described<T>) {
    values = nlohmann::json::array();
    visit_fields(value, [&](const char*, const auto& member) { values.push_back(values_of(member)); });
  } else if constexpr (requires { value.newer; }) {
    values = values_of(value.newer);
  } else if constexpr (Map<T>) {
    values = nlohmann::json::object();
    for (const auto& [key, element] : value) values[key] = values_of(element);
  } else if constexpr (List<T>) {
    values = nlohmann::json::array();
    for (const auto& element : value) values.push_back(values_of(element));
  } else if constexpr (requires { value.has_value(); }) {
    if (value) values = values_of(*value);
  } else if constexpr (requires { value.count(); }) {
    values = value.count();  // a duration
  } else if constexpr (std::is_enum_v<T>) {
    values = static_cast<std::underlying_type_t<T>>(value);
  } else {
    values = value;
  }
  return values;
}

template <class T>
void take(const nlohmann::json& from, T& value) {
  if constexpr (Described<T>) {
    std::size_t next = 0;
    visit_fields(value, [&](const char*, auto&& member) { take(from.at(next++), member); });
  } else if constexpr (requires { value.newer; }) {
    take(from, value.newer);
  } else if constexpr (Map<T>) {
    for (const auto& [key, element] : from.items()) take(element, value[key]);
  } else if constexpr (List<T>) {
    for (const nlohmann::json& element : from) take(element, value.emplace_back());
  } else if constexpr (requires { value.has_value(); }) {
    if (!from.is_null()) take(from, value.emplace());
  } else if constexpr (requires { value.count(); }) {
    value = T(from.get<typename T::rep>());
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(from.get<std::underlying_type_t<T>>());
  } else {
    value = from.get<T>();
  }
}

/// The fields of `value` by their keys, so that a message of another version is read as far as it has them.
template <Described T>
nlohmann::json keyed_values(const T& value) {
  nlohmann::json values = nlohmann::json::object();
  visit_fields(value, [&](const char* key, const auto& member) { values[key] = values_of(member); });
  return values;
}

template <Described T>
void take_keyed(const nlohmann::json& from, T& value) {
  visit_fields(value, [&](const char* key, auto&& member) { take(from.at(key), member); });
}

/// The bytes of a message. from_message() reads them, and throws nlohmann::json::exception where they are not a T.
template <class T>
std::string to_message(const T& value) {
  if constexpr (Described<T>)
    return to_cbor(keyed_values(value));
  else
    return to_cbor(values_of(value));
}

template <class T>
T from_message(std::string_view bytes) {
  T value;
  if constexpr (Described<T>)
    take_keyed(parse_cbor(bytes), value);
  else
    take(parse_cbor(bytes), value);
  return value;
}

}  // namespace underlap::fields
