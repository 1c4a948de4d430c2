// SPDX-License-Identifier: Apache-2.0
// Which copy of a setting counts if several sections have it, by Megatron-Bridge's runtime_config_update. Mixed
// precision, then comm_overlap, overwrite model, optimizer and ddp with all of their fields, including automatic ones.
// The data-parallel fields do so only if ddp.use_distributed_optimizer is true. Then Bridge's validation turns on flags
// of both ddp and the optimizer if either has them on.
#include <algorithm>
#include <array>

#include "impl/plan/schema/paths.hpp"
#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kDistributed = "ddp.use_distributed_optimizer";
constexpr std::array<std::string_view, 5> kOfDistributedOptimizer = {
    "comm_overlap.overlap_grad_reduce", "comm_overlap.overlap_param_gather", "comm_overlap.bucket_size",
    "comm_overlap.align_param_gather", "comm_overlap.overlap_param_gather_with_optimizer_step"};
constexpr std::array<std::string_view, 5> kBridgeSections = {"comm_overlap", "mixed_precision", "ddp", "optimizer",
                                                             "model"};

std::string_view section_of(std::string_view path) { return path.substr(0, path.find('.')); }

bool is_of(const Setting& copy, std::string_view section) { return section_of(copy.spelling) == section; }

bool is_of_mixed_precision(const Row& row) {
  const auto spellings = split_words(row.spellings);
  return section_of(row.path) == "mixed_precision" || std::ranges::any_of(spellings, [](std::string_view spelling) {
           return section_of(spelling) == "mixed_precision";
         });
}

/// The section whose copy alone counts; empty: all count.
std::string_view owner_of(const Settings& settings, const Row& row) {
  const std::string_view path = row.path, section = section_of(path);
  if (is_of_mixed_precision(row)) return settings.has_mixed_precision ? "mixed_precision" : "";
  if (section != "comm_overlap" || !settings.has_comm_overlap) return "";
  return is_one_of(kOfDistributedOptimizer, path) && !settings.distributed_in_ddp() ? "" : section;
}

/// The copy that counts; nullptr where Bridge writes over all of them.
const Setting* chosen(const Settings& settings, const Row& row, const std::vector<Setting>& copies) {
  const std::string_view path = row.path, owner = owner_of(settings, row);
  const bool is_skipped =
      owner.empty() && section_of(path) == "comm_overlap" && is_one_of(kOfDistributedOptimizer, path);
  const bool has_others = std::ranges::any_of(copies, [](const Setting& copy) { return !is_of(copy, "comm_overlap"); });
  const Setting* best = nullptr;
  for (const Setting& copy : copies) {
    if (!owner.empty() && !is_of(copy, owner)) continue;
    if (is_skipped && has_others && is_of(copy, "comm_overlap")) continue;
    if (best == nullptr || (copy.value == Value(true) && best->value == Value(false))) best = &copy;
  }
  return best;
}

}  // namespace

bool bridge_decides(std::string_view spelling, std::string_view other) {
  const std::string_view a = section_of(spelling), b = section_of(other);
  return a != b && is_one_of(kBridgeSections, a) && is_one_of(kBridgeSections, b);
}

bool Settings::distributed_in_ddp() const {
  const std::size_t row = row_index(kDistributed);
  const std::vector<Setting>& all = copies(row);
  for (const Setting& copy : all)
    if (is_of(copy, "ddp")) return copy.value == Value(true);
  return all.empty() ? flag(kDistributed, true) : all.back().value == Value(true);
}

void Settings::settle() {
  overwritten.clear();
  for (const auto& [row, copies] : copies_) {
    std::vector<Setting> given;
    for (const Setting& copy : copies)
      if (copy.state != Setting::State::absent) given.push_back(copy);
    const Setting* counts = chosen(*this, rows()[row], given);
    for (const Setting& copy : given)
      if (&copy != counts && (counts == nullptr || copy.value != counts->value)) overwritten.emplace_back(row, copy);
    settings_[row] = counts != nullptr ? *counts : given.empty() && !copies.empty() ? copies.back() : Setting{};
  }
}

void Settings::put(std::size_t row, Setting setting) {
  copies_.erase(row);
  settings_[row] = std::move(setting);
}

void Settings::add(std::size_t row, Setting setting) { copies_[row].push_back(std::move(setting)); }

const std::vector<Setting>& Settings::copies(std::size_t row) const {
  static const std::vector<Setting> kNone;
  const auto found = copies_.find(row);
  return found == copies_.end() ? kNone : found->second;
}

}  // namespace underlap::plan
