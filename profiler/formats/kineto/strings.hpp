// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "profiler/trace/name.hpp"

namespace underlap::formats {

/// The text of a JSON string between its quotes, with escapes resolved; an escape that JSON does not know stays as it
/// is.
std::string json_text(std::string_view raw);

/// The event with raw control characters escaped, wrong escapes doubled, and bytes that are no UTF-8 replaced by '?'.
std::string mended_json(std::string_view event);

/// Names of one thread by their JSON text, so that the registry of all threads is asked once a name.
class KinetoNames {
 public:
  /// `raw` is the text between the quotes.
  NameId id_of(std::string_view raw) {
    if (const auto found = ids_.find(raw); found != ids_.end()) return found->second;
    const NameId id = intern(raw.find('\\') == std::string_view::npos ? std::string(raw) : json_text(raw));
    ids_.emplace(texts_.emplace_back(raw), id);
    return id;
  }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace underlap::formats
