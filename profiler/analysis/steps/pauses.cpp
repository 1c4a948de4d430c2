// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/pauses.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "profiler/analysis/steps/step_ranges.hpp"

namespace underlap::analysis {
namespace {

// In lower case, with _ for every other character that is no letter. Activation checkpointing has "checkpoint" in its
// names, too, so the word alone does not count.
constexpr std::array<std::string_view, 13> kWords{
    "save_checkpoint", "checkpoint_save", "save_state",          "save_model",
    "async_save",      "torch_save",      "torch_serialization", "dcp_save",
    "dataloader",      "data_loader",     "validation",          "validate",
    "evaluat"};

bool is_letter(char c) { return 'a' <= c && c <= 'z'; }

// "eval" alone, or in "eval_step" and "run_eval", but not in "retrieval" or "evaluated".
bool has_word_eval(std::string_view small) {
  for (std::size_t at = small.find("eval"); at != std::string_view::npos; at = small.find("eval", at + 1))
    if ((at == 0 || !is_letter(small[at - 1])) && (at + 4 == small.size() || !is_letter(small[at + 4]))) return true;
  return false;
}

// How much of the window each name of the rank's pauses covers.
std::map<NameId, std::int64_t> covered(const RankSteps& rank, const Window& window) {
  std::map<NameId, std::int64_t> sum, until;
  for (const HostPause& pause : rank.pauses) {
    const std::int64_t begin =
        std::max({pause.begin_ns, window.begin_ns, until.try_emplace(pause.name, INT64_MIN).first->second});
    const std::int64_t end = std::min(pause.end_ns, window.end_ns);
    if (end <= begin) continue;
    sum[pause.name] += end - begin;
    until[pause.name] = end;
  }
  return sum;
}

}  // namespace

bool is_pause(std::string_view name) {
  std::string small = lower(name);
  for (char& c : small)
    if (!is_letter(c)) c = '_';
  return small == "checkpoint" || small == "save" || has_word_eval(small) ||
         std::ranges::any_of(kWords, [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

void add_pauses(const Trace& trace, StepList& list) {
  std::map<std::int32_t, RankSteps*> ranks;
  for (RankSteps& rank : list.ranks) ranks[rank.rank] = &rank;
  std::unordered_map<NameId, bool> known;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Track& track = trace.track_of(i);
    const bool is_of_host = track.device < 0 && (track.kind == TrackKind::range || track.kind == TrackKind::thread);
    if (trace.is_work(i) || !is_of_host) continue;
    const auto [name, is_new] = known.try_emplace(trace.name(i));
    if (is_new) name->second = is_pause(name_of(trace.name(i)));
    if (!name->second) continue;
    if (const auto rank = ranks.find(track.rank); rank != ranks.end())
      rank->second->pauses.push_back({trace.name(i), trace.start_ns()[i], trace.end_ns(i)});
  }
  for (RankSteps& rank : list.ranks) std::ranges::stable_sort(rank.pauses, {}, &HostPause::begin_ns);
}

LongestPause longest_pause(const RankSteps& rank, const Window& stalled, std::span<const Window> usual) {
  std::map<NameId, std::int64_t> usually;
  for (const Window& window : usual)
    for (const auto& [name, ns] : covered(rank, window)) usually[name] += ns;
  LongestPause longest;
  for (const auto& [name, ns] : covered(rank, stalled)) {
    const std::int64_t mean = usual.empty() ? 0 : usually[name] / static_cast<std::int64_t>(usual.size());
    if (ns - mean > longest.longer_ns) longest = {name, ns - mean};
  }
  return longest;
}

}  // namespace underlap::analysis
