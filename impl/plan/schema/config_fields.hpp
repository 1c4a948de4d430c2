// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "impl/plan/schema/schema.hpp"

namespace underlap::plan {

/// A key, and the field of Config that holds its value.
struct KeyField {
  std::string_view key;
  ConfigField field;
};

/// All keys that set one field as it is written; the others are left to the rules.
std::span<const KeyField> key_fields();

}  // namespace underlap::plan
