// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace underlap::formats::rocprof {

/// A value inside JSON text, as it is written.
struct JsonPart {
  std::string_view key;  ///< of a member; empty for an element of an array
  std::string_view value;
  bool is_whole = true;  ///< false: the text ends inside the value
};

/// The members of the object at the start of `text`, found by brackets and quotes alone. At the first invalid member
/// the list ends. Empty for text that is not an object.
std::vector<JsonPart> json_members(std::string_view text);

/// The value of the member `key`; an empty part without it.
JsonPart json_member(const std::vector<JsonPart>& members, std::string_view key);

/// Calls `take` with each object or array in the array that `text` begins with, in their order. Returns the number of
/// other elements.
std::size_t for_each_json_element(std::string_view text, const std::function<void(const JsonPart&)>& take);

}  // namespace underlap::formats::rocprof
