// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "platform/fields/json_fields.hpp"

// The JSON Schema (draft 2020-12) of what encode() writes, made from the same lists of fields.
namespace underlap::fields {

inline constexpr std::string_view kJsonSchemaDraft = "https://json-schema.org/draft/2020-12/schema";

template <class T>
Json schema_of();

Json schema_of_object(const auto& visit);

inline Json or_null(Json schema) { return {{"anyOf", Json::array({std::move(schema), Json{{"type", "null"}}})}}; }

/// Adds a field to the schema of its object. Newer and optional fields are not required.
template <class T>
void describe_field(Json& object, const char* key, const T& field) {
  Json& property = object["properties"][key];
  bool is_required = true;
  if constexpr (requires { field.newer; }) {
    property = schema_of<std::remove_cvref_t<decltype(field.newer)>>();
    is_required = false;
  } else if constexpr (requires { field.nullable; }) {
    property = or_null(schema_of<std::remove_cvref_t<decltype(field.nullable)>>());
  } else if constexpr (requires { field.optional_field; }) {
    property = schema_of<std::remove_cvref_t<decltype(field.optional_field)>>();
    is_required = false;
  } else if constexpr (requires { field.make; }) {
    property = schema_of<std::remove_cvref_t<decltype(field.make())>>();
  } else if constexpr (requires { field.pairs; }) {
    property = {{"type", "object"},
                {"additionalProperties",
                 schema_of<typename std::remove_cvref_t<decltype(field.pairs)>::value_type::second_type>()}};
  } else if constexpr (requires { field.json_text; }) {
    property = Json::object();
  } else if constexpr (requires { field.visit_object; }) {
    property = schema_of_object(field.visit_object);
    if (field.is_null) property = or_null(property);
  } else if constexpr (requires { field.visit_element; }) {
    using Elements = std::remove_cvref_t<decltype(field.elements)>;
    const typename Elements::value_type element{};
    Json schema = schema_of_object([&](const auto& of_element) { field.visit_element(element, of_element); });
    property = {{"type", Map<Elements> ? "object" : "array"}};
    property[Map<Elements> ? "additionalProperties" : "items"] = std::move(schema);
  } else {
    property = schema_of<T>();
  }
  if (is_required) object["required"].push_back(key);
}

Json schema_of_object(const auto& visit) {
  Json object{{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  visit([&](const char* key, const auto& field) { describe_field(object, key, field); });
  return object;
}

/// The schema of objects with the fields of this one, for types whose fields depend on a value.
template <Described T>
Json schema_like(const T& example) {
  return schema_of_object([&](const auto& field) { visit_fields(example, field); });
}

/// The schema of a T.
template <class T>
Json schema_of() {
  if constexpr (Described<T>) {
    return schema_like(T{});
  } else if constexpr (std::same_as<T, Json>) {
    return Json::object();  // anything
  } else if constexpr (Map<T>) {
    return {{"type", "object"}, {"additionalProperties", schema_of<typename T::mapped_type>()}};
  } else if constexpr (List<T>) {
    return {{"type", "array"}, {"items", schema_of<typename T::value_type>()}};
  } else if constexpr (requires(const T& value) { value.has_value(); }) {
    return or_null(schema_of<typename T::value_type>());
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    return {{"type", "array"}};
  } else if constexpr (std::is_enum_v<T>) {
    Json words = Json::array();
    for (const T value : all_values<T>()) words.push_back(to_string(value));
    return {{"type", "string"}, {"enum", std::move(words)}};
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::floating_point<T>) {
    const Json no_number{{"enum", Json::array({"NaN", "Infinity", "-Infinity"})}};
    return {{"anyOf", Json::array({Json{{"type", "number"}}, no_number})}};
  } else if constexpr (std::integral<T>) {
    return {{"type", "integer"}};
  } else {
    static_assert(std::convertible_to<T, std::string_view>);
    return {{"type", "string"}};
  }
}

/// The $id of the schema that a document names: "underlap.gate/1" is "urn:underlap:gate/1". Other schemas refer to it.
inline std::string schema_id(std::string_view name) {
  std::string id = "urn:" + std::string(name);
  id.replace(id.find('.'), 1, ":");
  return id;
}

/// The schema of a document: fields as those of `example`, and its schema's name.
template <Described T>
Json document_schema(std::string_view name, const T& example = {}) {
  Json document{{"$schema", kJsonSchemaDraft}, {"$id", schema_id(name)}, {"title", name}};
  document.update(schema_like(example));
  document["properties"]["schema"] = {{"const", name}};
  document["required"].push_back("schema");
  return document;
}

/// Adds fields that a document may lack.
template <Described T>
void add_optional_fields(Json& document, const T& example = {}) {
  document["properties"].update(schema_like(example)["properties"]);
}

template <class T>
std::string schema_text(std::string_view name) {
  return json_text(document_schema<T>(name), 1) + "\n";
}

}  // namespace underlap::fields
