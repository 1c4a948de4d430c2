// SPDX-License-Identifier: Apache-2.0
#include "platform/json.hpp"

namespace underlap {
namespace {

template <class Json>
std::string text_of(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_text(const nlohmann::json& value, int indent) { return text_of(value, indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) { return text_of(value, indent); }

nlohmann::ordered_json parse_json(std::string_view text) { return nlohmann::ordered_json::parse(text); }

nlohmann::ordered_json parse_json_or_discard(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

}  // namespace underlap
