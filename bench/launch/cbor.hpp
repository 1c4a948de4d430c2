// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace underlap::bench {

/// A message's values as CBOR: texts keep every byte, and numbers every bit. And back; throws as the library does.
inline std::string to_bytes(const nlohmann::json& json) {
  std::string bytes;
  nlohmann::json::to_cbor(json, bytes);
  return bytes;
}

inline nlohmann::json from_bytes(std::string_view bytes) {
  return nlohmann::json::from_cbor(bytes.begin(), bytes.end());
}

}  // namespace underlap::bench
