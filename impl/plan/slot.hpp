// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "impl/plan/schema.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {

inline constexpr EnumNames<Activation, 3> kActivationNames{{"swiglu", "gelu", "squared_relu"}};

/// Puts a value of the field's kind, as read_value checks it, into a field of Config; null where there may be none.
template <class Field>
void assign(Field& field, const Value& value) {
  if constexpr (std::is_same_v<Field, Activation>)
    field = kActivationNames.find(std::get<std::string>(value)).value();
  else if constexpr (std::is_same_v<Field, bool> || std::is_same_v<Field, std::string>)
    field = std::get<Field>(value);
  else if constexpr (std::is_same_v<Field, double>)
    field = std::get<double>(value);
  else if constexpr (std::is_integral_v<Field>)
    field = static_cast<Field>(std::get<std::int64_t>(value));
  else if (is_null(value))
    field.reset();
  else
    field = std::get<typename Field::value_type>(value);
}

/// A field of Config as a Value.
template <class Field>
Value to_value(const Field& field) {
  if constexpr (std::is_same_v<Field, Activation>)
    return std::string(kActivationNames[field]);
  else if constexpr (std::is_same_v<Field, bool> || std::is_same_v<Field, std::string> || std::is_same_v<Field, double>)
    return field;
  else if constexpr (std::is_integral_v<Field>)
    return static_cast<std::int64_t>(field);
  else
    return field ? Value(*field) : Value();
}

template <auto section, auto field>
void store(Config& config, const Value& value) {
  assign((config.*section).*field, value);
}

template <auto section, auto field>
Value read(const Config& config) {
  return to_value((config.*section).*field);
}

/// The way into and out of the field `field` of Config's section `section`.
template <auto section, auto field>
inline constexpr Slot kSlot{&store<section, field>, &read<section, field>};

}  // namespace underlap::plan
