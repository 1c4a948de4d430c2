// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/cell_references.hpp"

#include <algorithm>
#include <tuple>

#include "impl/plan/pipeline_schedules.hpp"
#include "impl/plan/rules/resolution.hpp"

namespace underlap::plan {
namespace {

/// The effective settings of one cell, sorted by role.
struct CellEffect {
  std::string work;                    // equal for equal work
  std::vector<std::size_t> overlaps;   // rows of switches that are on, ascending
  std::vector<std::string> otherwise;  // of every other key that leaves the work as it is: its value
  bool is_floor = false;
  bool is_without_transfers = false;
};

Value effective(const Plan& plan, const std::map<std::string_view, const Knob*>& knobs, std::size_t row) {
  if (rows()[row].field.read != nullptr) return rows()[row].field.read(plan.config);
  const auto found = knobs.find(rows()[row].path);
  return found == knobs.end() ? fallback(row) : found->second->effective;
}

/// A schedule that is requested by name is a switch if Megatron would run another one.
bool is_on(const Value& value, const Config& config) {
  if (!std::holds_alternative<std::string>(value)) return value == Value(true);
  Config unasked = config;
  unasked.extensions.pipeline_schedule.reset();
  return schedule_in_effect(config) != schedule_in_effect(unasked);
}

CellEffect effect_of(const Plan& plan) {
  std::map<std::string_view, const Knob*> knobs;
  for (const Knob& knob : plan.knobs) knobs.emplace(knob.name, &knob);
  CellEffect effect;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Value value = effective(plan, knobs, i);
    switch (rows()[i].role) {
      case Role::work: effect.work += to_json_text(value) + '\n'; break;
      case Role::overlap:
        if (has_ranks(rows()[i].scope, plan.config.parallel) && is_on(value, plan.config)) effect.overlaps.push_back(i);
        break;
      case Role::floor: effect.is_floor |= value == Value(false); break;
      case Role::transfers: effect.is_without_transfers |= value == Value(true); break;
      case Role::manner:
      case Role::aside: effect.otherwise.push_back(to_json_text(value)); break;
    }
  }
  return effect;
}

bool has_all_of(const CellEffect& cell, const CellEffect& other) {
  return std::ranges::includes(cell.overlaps, other.overlaps);
}

/// `cell` transfers.
bool is_off(const CellEffect& other, const CellEffect& cell) {
  if (other.is_without_transfers || !has_all_of(cell, other)) return false;
  const bool has_fewer = other.overlaps.size() < cell.overlaps.size();
  return has_fewer || cell.is_without_transfers || (cell.is_floor && !other.is_floor);
}

std::ptrdiff_t keys_apart(const CellEffect& a, const CellEffect& b) {
  std::ptrdiff_t apart = 0;
  for (std::size_t i = 0; i < a.otherwise.size(); ++i) apart += a.otherwise[i] == b.otherwise[i] ? 0 : 1;
  return apart;
}

/// The cell with the fewest switches of those that are taken, then the nearest to `cell`, then the first.
class Nearest {
 public:
  Nearest(const std::vector<CellEffect>& effects, std::size_t cell) : effects_(effects), cell_(cell) {}

  void take(std::size_t other) {
    const CellEffect& its = effects_[other];
    const auto weight = std::tuple(its.overlaps.size(), its.is_floor, keys_apart(its, effects_[cell_]), other);
    if (!best_ || weight < *best_) best_ = weight;
  }
  std::optional<std::size_t> index() const { return best_ ? std::optional(std::get<3>(*best_)) : std::nullopt; }

 private:
  const std::vector<CellEffect>& effects_;
  std::size_t cell_;
  std::optional<std::tuple<std::size_t, bool, std::ptrdiff_t, std::size_t>> best_;
};

/// `alike`: the cells that do the same work, `cell` among them.
CellReferences references_of(const std::vector<CellEffect>& effects, const std::vector<std::size_t>& alike,
                             std::size_t cell) {
  CellReferences references;
  for (const std::size_t row : effects[cell].overlaps) references.overlaps.emplace_back(rows()[row].path);
  Nearest off(effects, cell), no_comm(effects, cell);
  for (const std::size_t other : alike) {
    if (is_off(effects[other], effects[cell])) off.take(other);
    if (effects[other].is_without_transfers) no_comm.take(other);
  }
  references.off = off.index();
  references.no_comm = no_comm.index();
  return references;
}

}  // namespace

std::vector<CellReferences> cell_references(std::span<const Cell> cells) {
  std::vector<CellEffect> effects;
  std::map<std::string_view, std::vector<std::size_t>> alike;
  for (const Cell& cell : cells) effects.push_back(effect_of(cell.plan));
  for (std::size_t i = 0; i < effects.size(); ++i) alike[effects[i].work].push_back(i);
  std::vector<CellReferences> references;
  for (std::size_t i = 0; i < effects.size(); ++i)
    references.push_back(references_of(effects, alike[effects[i].work], i));
  for (std::size_t i = 0; i < references.size(); ++i) {
    const std::optional<std::size_t> off = references[i].off;
    if (off && !effects[i].is_without_transfers && !references[*off].off) references[*off].off = off;
  }
  return references;
}

}  // namespace underlap::plan
