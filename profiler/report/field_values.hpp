// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "profiler/report/results_schema.hpp"

namespace underlap::report::schema {

// A described record as JSON values in the order of its fields, without keys: for messages between processes of one
// program. values_of() writes what take() reads.

template <class T>
nlohmann::json values_of(const T& value);
template <class T>
nlohmann::json values_of(const std::map<std::string, T>& map);
template <class T>
nlohmann::json values_of(const std::vector<T>& list);
template <class T>
nlohmann::json values_of(const NewerField<const T>& field);

template <class T>
nlohmann::json values_of(const std::vector<T>& list) {
  nlohmann::json values = nlohmann::json::array();
  for (const T& value : list) values.push_back(values_of(value));
  return values;
}

template <class T>
nlohmann::json values_of(const T& value) {
  if constexpr (Described<T>) {
    nlohmann::json values = nlohmann::json::array();
    Fields<T>::visit(value, [&](const char*, const auto& member) { values.push_back(values_of(member)); });
    return values;
  } else {
    return value;
  }
}

template <class T>
nlohmann::json values_of(const std::map<std::string, T>& map) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, value] : map) object[key] = values_of(value);
  return object;
}

template <class T>
nlohmann::json values_of(const NewerField<const T>& field) {
  return values_of(field.value);
}

template <class T>
void take(const nlohmann::json& from, T& value);
template <class T>
void take(const nlohmann::json& from, std::map<std::string, T>& map);
template <class T>
void take(const nlohmann::json& from, std::vector<T>& list);
template <class T>
void take(const nlohmann::json& from, NewerField<T> field);

template <class T>
void take(const nlohmann::json& from, std::vector<T>& list) {
  for (const nlohmann::json& value : from) take(value, list.emplace_back());
}

template <class T>
void take(const nlohmann::json& from, T& value) {
  if constexpr (Described<T>) {
    std::size_t next = 0;
    Fields<T>::visit(
        value, [&](const char*, auto&& member) { take(from.at(next++), std::forward<decltype(member)>(member)); });
  } else {
    value = from.get<T>();
  }
}

template <class T>
void take(const nlohmann::json& from, std::map<std::string, T>& map) {
  for (const auto& [key, value] : from.items()) take(value, map[key]);
}

template <class T>
void take(const nlohmann::json& from, NewerField<T> field) {
  take(from, field.value);
}

}  // namespace underlap::report::schema
