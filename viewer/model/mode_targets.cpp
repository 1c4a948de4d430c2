// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/mode_targets.hpp"

#include <fmt/format.h>

#include "profiler/analysis/matching/communication_matching.hpp"
#include "profiler/trace/kernel_name.hpp"

namespace underlap::viewer {
namespace {

// A pattern that matches a name. Of the characters with a meaning in patterns, * matches itself, too.
std::string pattern_of(std::string_view name) {
  std::string pattern(name);
  std::ranges::replace(pattern, '|', '*');
  return pattern;
}

std::string kernel_pattern(std::string_view name) {
  const std::string qualified = qualified_name(name);
  return pattern_of(qualified.empty() ? name : std::string_view(qualified));
}

bool computes(const Trace& trace, std::int32_t stream) {
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.track_of(i).stream == stream && trace.track_of(i).kind == TrackKind::stream &&
        trace.tag(i).kind == Kind::compute)
      return true;
  return false;
}

NameId name_of_group(const Trace& trace, std::uint32_t slice) {
  const CommunicationRecord* record = trace.communication(slice);
  if (record == nullptr || record->group >= trace.groups.size()) return kNoName;
  const GroupRecord& group = trace.groups[record->group];
  if (group.description == analysis::assumed_group_description()) return kNoName;  // no rule could match it
  return group.description == kNoName ? group.name : group.description;
}

}  // namespace

bool takes_modes(const Trace& trace) { return !trace.metadata.contains("backend"); }

ModeTarget kernel_target(std::string_view name) {
  const std::string pattern = kernel_pattern(name);
  return {fmt::format("kernel {}", pattern), {.kernel = pattern}};
}

std::vector<ModeTarget> mode_targets_of(const Trace& trace, std::uint32_t slice) {
  std::vector<ModeTarget> targets;
  const Track& track = trace.track_of(slice);
  if (!trace.is_work(slice) || track.kind != TrackKind::stream) return targets;
  const NameId name = trace.name(slice);
  if (name != kNoName) targets.push_back(kernel_target(name_of(name)));
  if (trace.tag(slice).kind == Kind::communication) {
    ModeTarget stream{fmt::format("stream {}", track.stream), {.streams = {track.stream}}};
    const bool is_shared = computes(trace, track.stream);
    if (is_shared && name != kNoName) {
      stream.rule.kernel = targets.front().rule.kernel;
      stream.text = fmt::format("{} on stream {}", targets.front().text, track.stream);
    }
    if (!is_shared || name != kNoName) targets.push_back(std::move(stream));
  }
  if (const NameId group = name_of_group(trace, slice); group != kNoName)
    targets.push_back({fmt::format("process group {}", name_of(group)), {.group = pattern_of(name_of(group))}});
  return targets;
}

attribution::ModeRule target_of(const attribution::ModeRule& rule) {
  return {.group = rule.group, .kernel = rule.kernel, .streams = rule.streams, .ranks = rule.ranks};
}

void assign(attribution::ModeMap& map, attribution::ModeRule rule) {
  const std::string target = to_yaml(target_of(rule));
  std::erase_if(map.rules, [&](const attribution::ModeRule& other) { return to_yaml(target_of(other)) == target; });
  map.rules.insert(map.rules.begin(), std::move(rule));
}

}  // namespace underlap::viewer
