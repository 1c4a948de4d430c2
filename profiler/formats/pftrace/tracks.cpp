// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats::pftrace {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The words and numbers of a name, in lower case: "COPY to AGENT [4]" has copy, to, agent, 4.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < name.size();) {
    const auto is_part = is_letter(name[at]) ? is_letter : is_digit(name[at]) ? is_digit : nullptr;
    if (is_part == nullptr) {
      ++at;
      continue;
    }
    std::string& word = words.emplace_back();
    for (; at < name.size() && is_part(name[at]); ++at)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(name[at])));
  }
  return words;
}

// -1 for a word that is not a number.
std::int32_t number_of(std::string_view word) { return integer_within<std::int32_t>(word, -1); }

}  // namespace

std::int32_t stream_in(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool is_queue = words[i] == "queue" && words.front() == "compute";
    if (words[i] != "stream" && !is_queue) continue;
    const std::int32_t number = number_of(words[i + 1]);
    if (number >= 0 && (is_queue || i + 2 == words.size())) return number;
  }
  return -1;
}

std::int32_t device_in(std::string_view name) {
  constexpr std::array<std::string_view, 4> kDevices{"gpu", "device", "cuda", "agent"};
  const std::vector<std::string> words = words_of(name);
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (std::ranges::find(kDevices, words[i]) != kDevices.end() && number_of(words[i + 1]) >= 0)
      return number_of(words[i + 1]);
  return -1;
}

std::vector<Place> places_of(std::span<const Track> tracks) {
  std::unordered_map<std::uint64_t, std::uint32_t> by_uuid;
  for (std::uint32_t i = 0; i < tracks.size(); ++i) by_uuid.emplace(tracks[i].uuid, i);
  std::vector<Place> places;
  for (const Track& track : tracks) {
    const std::string_view name = name_of(track.name);
    Place place{.pid = {.number = std::max<std::int64_t>(track.pid, 0)}, .tid = {}, .stream = stream_in(name)};
    place.device = device_in(name);
    constexpr int kMostParents = 16;  // a damaged file may have a circle
    const Track* at = &track;
    bool has_process = track.pid >= 0;
    for (int depth = 0; depth < kMostParents && at->parent != 0; ++depth) {
      const auto parent = by_uuid.find(at->parent);
      if (parent == by_uuid.end()) break;
      at = &tracks[parent->second];
      if (place.device < 0) place.device = device_in(name_of(at->name));
      if (!has_process && at->pid >= 0) place.pid.number = at->pid;
      has_process = has_process || at->pid >= 0;
    }
    if (track.is_thread)
      place.tid.number = track.tid;
    else
      place.tid.text = name.empty() ? intern(fmt::format("track {}", track.uuid)) : track.name;
    place.thread_name = track.name;
    places.push_back(place);
  }
  return places;
}

}  // namespace underlap::formats::pftrace
