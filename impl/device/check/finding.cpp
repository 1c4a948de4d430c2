// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/finding.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

namespace underlap::check {

std::string_view to_string(FindingKind kind) {
  static constexpr std::array<std::string_view, kNumFindingKinds> kNames{
      "communicator", "illegal_use",     "mismatch",        "unmatched",         "deadlock",       "issue_order",
      "race",         "released_in_use", "acquired_in_use", "use_after_release", "unwritten_read", "asymmetry"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string text_of(std::span<const ProgramIndex> ranks, const CommandPlace& place) {
  const ProgramIndex& index = ranks[static_cast<std::size_t>(place.rank)];
  return describe(index.program(), index.command(place.index));
}

std::string text_with_rank(std::span<const ProgramIndex> ranks, const CommandPlace& place) {
  return fmt::format("rank {} {}", place.rank, text_of(ranks, place));
}

std::string text_of(const Program& program, const View& view) {
  const std::string& name = program.tensors.at(view.tensor.id - 1).name;
  if (view.is_dense()) return fmt::format("{}[{}, {})", name, view.offset, view.end());
  return fmt::format("{}[{}, {}) in {} rows every {}", name, view.offset, view.offset + view.cols, view.rows,
                     view.leading_dimension);
}

namespace {

// Findings without commands and deadlocks are folded by their text, all others by what their commands do.
std::string fold_key(std::span<const ProgramIndex> ranks, const Finding& finding) {
  std::string key(to_string(finding.kind));
  if (finding.commands.empty() || finding.kind == FindingKind::deadlock) return key + finding.what;
  for (const CommandPlace& place : finding.commands) {
    const ProgramIndex& index = ranks[static_cast<std::size_t>(place.rank)];
    ProgramCommand command = index.command(place.index);
    command.tag.step = -1;
    key += "\n" + describe(index.program(), command);
  }
  return key;
}

}  // namespace

std::vector<Finding> fold(std::span<const ProgramIndex> ranks, std::vector<Finding> findings) {
  std::vector<Finding> kept;
  std::map<std::string, std::size_t> first_of;
  for (Finding& finding : findings) {
    const auto [entry, is_new] = first_of.emplace(fold_key(ranks, finding), kept.size());
    if (is_new)
      kept.push_back(std::move(finding));
    else
      kept[entry->second].count += finding.count;
  }
  return kept;
}

}  // namespace underlap::check
