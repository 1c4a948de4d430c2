// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

// The fields of a type are one function that both the writer and the reader of its files follow:
//
//     void visit_fields(Is<Interval> auto& interval, auto&& field) {
//       field("low", interval.low);
//       field("high", interval.high);
//     }
//
// It is declared in the namespace of the type. A member is passed by itself, or in one of the wrappers below, which
// writer and reader tell apart by the names of their members.
namespace underlap::fields {

/// `T` or `const T`.
template <class Object, class T>
concept Is = std::same_as<std::remove_const_t<Object>, T>;

template <class T>
concept Map = requires {
  typename T::mapped_type;
};

template <class T>
concept List = requires(T& list) {
  list.emplace_back();
};

struct AnyField {
  void operator()(const char*, const auto&) const {}
};

/// Whether a type has a list of its fields.
template <class T>
concept Described = requires(T& object) {
  visit_fields(object, AnyField{});
};

/// A string of JSON text that the file holds as JSON. An empty string is null.
template <class String>
struct JsonText {
  String& json_text;
};

/// A list of pairs that the file holds as an object.
template <class Pairs>
struct AsObject {
  Pairs& pairs;
};

/// A field that files of earlier versions lack. It then keeps its initial value.
template <class T>
struct NewerField {
  T& newer;
};

/// A field that is null where `is_null`. Reading null keeps its initial value.
template <class T>
struct NullIf {
  T& nullable;
  bool is_null = false;
};

/// A field that the file has where `is_present`, which reading sets.
template <class T, class Bool>
struct PresentIf {
  T& optional_field;
  Bool& is_present;
};

/// A field that is computed from others: `make` returns it for the writer, and the reader ignores it.
template <class Make>
struct Derived {
  Make make;
};

/// An object of the fields that `visit_object(field)` names. The reader ignores it.
template <class Visit>
struct Object {
  Visit visit_object;
  bool is_null = false;
};

/// An object for each element of a list, or by the keys of a map, of the fields that `visit_element(element, field)`
/// names. The reader ignores them.
template <class Elements, class Visit>
struct Each {
  const Elements& elements;
  Visit visit_element;
};

// Clang deduces aggregates only from release 17 on.
template <class String>
JsonText(String&) -> JsonText<String>;
template <class Pairs>
AsObject(Pairs&) -> AsObject<Pairs>;
template <class T>
NewerField(T&) -> NewerField<T>;
template <class T>
NullIf(T&, bool) -> NullIf<T>;
template <class T, class Bool>
PresentIf(T&, Bool&) -> PresentIf<T, Bool>;
template <class Make>
Derived(Make) -> Derived<Make>;
template <class Visit>
Object(Visit) -> Object<Visit>;
template <class Visit>
Object(Visit, bool) -> Object<Visit>;
template <class Elements, class Visit>
Each(const Elements&, Visit) -> Each<Elements, Visit>;

}  // namespace underlap::fields
