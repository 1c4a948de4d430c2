// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace underlap {

/// `value` as CBOR: texts keep every byte, and numbers every bit.
std::string to_cbor(const nlohmann::json& value);

/// The value that `bytes` are. Throws nlohmann::json::parse_error, also if they are nested deeper than 100 levels: the
/// library reads a value by a function that calls itself for each level.
nlohmann::json parse_cbor(std::string_view bytes);

}  // namespace underlap
