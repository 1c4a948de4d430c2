// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "profiler/formats/kineto/strings.hpp"
#include "profiler/trace/name.hpp"

namespace underlap::formats {

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
