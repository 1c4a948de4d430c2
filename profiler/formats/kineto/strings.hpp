// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace underlap::formats {

/// The text of a JSON string between its quotes, with escapes resolved; an escape that JSON does not know stays as it
/// is.
std::string json_text(std::string_view raw);

/// The event with raw control characters escaped, wrong escapes doubled, and bytes that are no UTF-8 replaced by '?'.
std::string mended_json(std::string_view event);

}  // namespace underlap::formats
