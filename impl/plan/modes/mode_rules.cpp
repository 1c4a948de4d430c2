// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/modes/mode_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace underlap::plan {
namespace {

std::vector<ModeRules>& registry() {
  static std::vector<ModeRules> modes{tensor_rules(), data_rules(), pipeline_rules(), context_rules(), expert_rules()};
  return modes;
}

}  // namespace

std::int32_t ModeRules::size(const ParallelConfig& parallel) const { return size_of(parallel, *this, sizes.front()); }

std::span<const ModeRules> all_mode_rules() { return registry(); }

RegisterModeRules::RegisterModeRules(ModeRules added) {
  std::vector<ModeRules>& modes = registry();
  if (std::ranges::find(modes, added.mode, &ModeRules::mode) != modes.end())
    throw std::logic_error(fmt::format("mode {} is registered twice", to_string(added.mode)));
  modes.push_back(std::move(added));
}

const ModeRules* find_mode_rules(Mode mode) {
  const auto found = std::ranges::find(all_mode_rules(), mode, &ModeRules::mode);
  return found == all_mode_rules().end() ? nullptr : &*found;
}

std::span<const ModeRules* const> dense_modes() {
  static const std::vector<const ModeRules*> by_digit = [] {
    std::vector<const ModeRules*> modes;
    for (const ModeRules& mode : all_mode_rules())
      if (mode.dense_digit) modes.push_back(&mode);
    std::ranges::sort(modes, {}, [](const ModeRules* mode) { return *mode->dense_digit; });
    return modes;
  }();
  return by_digit;
}

std::int32_t size_of(const ParallelConfig& parallel, const ModeRules& mode, const SizeField& field) {
  if (field.field != nullptr) return parallel.*field.field;
  const auto found = std::ranges::find(parallel.further, mode.mode, &FurtherSize::mode);
  return found == parallel.further.end() ? 1 : found->size;
}

void set_size(ParallelConfig& parallel, const ModeRules& mode, const SizeField& field, std::int32_t size) {
  if (field.field != nullptr) {
    parallel.*field.field = size;
    return;
  }
  std::erase_if(parallel.further, [&](const FurtherSize& each) { return each.mode == mode.mode; });
  if (size > 1)
    parallel.further.push_back({.mode = mode.mode, .size = size, .numbers_ranks = mode.dense_digit.has_value()});
}

std::int32_t ranks_sharing(Shared what, const ParallelConfig& parallel) {
  std::int32_t ranks = 1;
  for (const ModeRules& mode : all_mode_rules())
    if (std::ranges::find(mode.shares, what) != mode.shares.end()) ranks *= mode.size(parallel);
  return ranks;
}

std::vector<SizeOfMode> sizes_in(const std::vector<const ParallelConfig*>& layouts) {
  std::vector<SizeOfMode> shown = all_sizes();
  std::erase_if(shown, [&](const SizeOfMode& each) {
    const auto& [mode, size] = each;
    const auto is_above_1 = [&](const ParallelConfig* parallel) { return size_of(*parallel, *mode, *size) > 1; };
    return size->field == nullptr && std::ranges::none_of(layouts, is_above_1);
  });
  return shown;
}

std::vector<SizeOfMode> all_sizes() {
  std::vector<SizeOfMode> all;
  for (const bool is_rest : {false, true})
    for (const ModeRules& mode : all_mode_rules())
      if (mode.takes_the_rest == is_rest)
        for (const SizeField& field : mode.sizes) all.emplace_back(&mode, &field);
  return all;
}

}  // namespace underlap::plan
