// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "impl/plan/schema/schema.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {

inline constexpr EnumNames<Activation, 3> kActivationNames{{"swiglu", "gelu", "squared_relu"}};
inline constexpr EnumNames<PositionEmbedding, 5> kPositionEmbeddingNames{
    {"learned_absolute", "rope", "yarn", "mrope", "none"}};
inline constexpr EnumNames<Normalization, 2> kNormalizationNames{{"RMSNorm", "LayerNorm"}};

// The enumerations of Config, by the words that are written for them.
inline void from_word(Activation& field, std::string_view word) { field = kActivationNames.find(word).value(); }
inline void from_word(PositionEmbedding& field, std::string_view word) {
  field = kPositionEmbeddingNames.find(word).value();
}
inline void from_word(Normalization& field, std::string_view word) { field = kNormalizationNames.find(word).value(); }
inline void from_word(Backend& field, std::string_view word) { field = backend_from(word).value(); }
inline std::string_view to_word(Activation field) { return kActivationNames[field]; }
inline std::string_view to_word(PositionEmbedding field) { return kPositionEmbeddingNames[field]; }
inline std::string_view to_word(Normalization field) { return kNormalizationNames[field]; }
inline std::string_view to_word(Backend field) { return to_string(field); }

/// Puts a value of the field's kind, as read_value checks it, into a field of Config; null where there may be none.
template <class Field>
void assign(Field& field, const Value& value) {
  if constexpr (std::is_enum_v<Field>)
    from_word(field, std::get<std::string>(value));
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
  if constexpr (std::is_enum_v<Field>)
    return std::string(to_word(field));
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
