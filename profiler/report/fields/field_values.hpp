// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "profiler/report/fields/json_fields.hpp"
#include "profiler/report/results_schema.hpp"

namespace underlap::report::schema {

// A described record as JSON values in the order of its fields, without keys: for messages between processes of one
// program. values_of() writes what take() reads.

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
  } else {
    value = from.get<T>();
  }
}

}  // namespace underlap::report::schema
