// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/attribution/mode_map.hpp"
#include "profiler/attribution/name_patterns.hpp"
#include "profiler/trace/kernel_name.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

/// Finds the first rule of the mode map that matches a slice. Each name is matched with a rule once. The map must
/// outlive this.
class MapLookup {
 public:
  explicit MapLookup(const ModeMap& map) : rules_(map.rules), fits_(map.rules.size()) {}

  const ModeRule* rule_of(const Trace& trace, std::size_t i) {
    for (std::size_t r = 0; r < rules_.size(); ++r)
      if (fits(r, trace, i)) return &rules_[r];
    return nullptr;
  }

 private:
  bool fits(std::size_t r, const Trace& trace, std::size_t i) {
    const ModeRule& rule = rules_[r];
    const Track& track = trace.track_of(i);
    const auto holds = [](const std::vector<std::int32_t>& all, std::int32_t one) {
      return all.empty() || std::ranges::find(all, one) != all.end();
    };
    if (!holds(rule.streams, track.stream) || !holds(rule.ranks, track.rank)) return false;
    if (rule.kernel && !fits_kernel(r, trace.name(i))) return false;
    if (!rule.group) return true;
    const CommunicationRecord* record = trace.communication(i);
    if (record == nullptr || record->group >= trace.groups.size()) return false;
    const GroupRecord& group = trace.groups[record->group];
    return matches_any(*rule.group, name_of(group.name)) || matches_any(*rule.group, name_of(group.description));
  }

  bool fits_kernel(std::size_t r, NameId name) {
    const std::string& pattern = *rules_[r].kernel;
    return fits_[r].of(
        name, [&](std::string_view kernel) { return matches_kernel(pattern, kernel, qualified_name(kernel)); });
  }

  const std::vector<ModeRule>& rules_;
  std::vector<ByName<bool>> fits_;
};

}  // namespace underlap::attribution
