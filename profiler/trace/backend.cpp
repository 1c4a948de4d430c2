// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/backend.hpp"

#include <algorithm>

namespace underlap {

std::optional<Backend> backend_from(std::string_view name) {
  const auto* found = std::find_if(kBackends.begin(), kBackends.end(), [&](const auto& b) { return b.name == name; });
  if (found == kBackends.end()) return std::nullopt;
  return static_cast<Backend>(found - kBackends.begin());
}

}  // namespace underlap
