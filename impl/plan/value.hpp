// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace underlap::plan {

struct Value;
using ValueList = std::vector<Value>;
using ValueMapping = std::vector<std::pair<std::string, Value>>;  ///< keys unique, in the order in which they are shown

/// The requested or effective value of a setting; monostate is null. It becomes text when it leaves the plan.
struct Value : std::variant<std::monostate, bool, std::int64_t, double, std::string, ValueList, ValueMapping> {
  using variant::variant;
};

/// Null is no request: the automatic rule decides.
inline bool is_null(const Value& value) { return std::holds_alternative<std::monostate>(value); }

/// Null where `value` is no mapping or has no such key.
const Value* find(const Value& value, std::string_view key);

/// `value` as JSON text: true, 134217728, null, "wire". Numbers are as short as people write them, 4 and not 4.0.
std::string to_json_text(const Value& value);

}  // namespace underlap::plan
