// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <protozero/data_view.hpp>
#include <protozero/types.hpp>
#include <vector>

namespace underlap::formats::perfetto {

/// A field number with its wire type, as packet readers return both.
constexpr std::uint32_t number(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t bytes(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t fixed32(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed32);
}
constexpr std::uint32_t fixed64(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::fixed64);
}

/// Whether `value` fits into `number`, which takes it.
template <class T>
bool narrow(std::int64_t value, T& number) {
  number = static_cast<T>(value);
  return number == value;
}

/// The fields of one debug annotation that an event of ours can carry.
struct Value {
  std::uint64_t name_iid = 0;
  std::int64_t number = 0;
  std::uint64_t string_iid = 0;
  std::vector<protozero::data_view> items;
};

/// Throws protozero::exception for a message that is broken.
Value value_of(protozero::data_view message);

}  // namespace underlap::formats::perfetto
