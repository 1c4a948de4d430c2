// SPDX-License-Identifier: Apache-2.0
#include "research/studies/claims/claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <stdexcept>

#include "profiler/trace/enum_names.hpp"

namespace underlap::bench {
namespace {

constexpr EnumNames<Verdict, 4> kVerdicts{{"holds", "holds where", "does not hold", "not run by this version"}};

constexpr std::array<DocumentInfo, 2> kDocuments{{
    {"NeMo Framework user guide 25.09, Communication Overlap",
     "https://docs.nvidia.com/nemo-framework/user-guide/25.09/nemotoolkit/features/optimizations/"
     "communication_overlap.html"},
    {"Megatron-Bridge skill card, TP / DP / PP Communication Overlap",
     "https://docs.nvidia.com/nemo/megatron-bridge/latest/skills/perf-techniques/tp-dp-comm-overlap/SKILL.html"},
}};

}  // namespace

const DocumentInfo& info_of(Document document) { return kDocuments[static_cast<std::size_t>(document)]; }

std::string_view to_string(Verdict verdict) { return kVerdicts[verdict]; }

std::vector<Claim> all_claims() {
  std::vector<Claim> claims;
  for (const std::span<const Claim> some :
       {nemo_claims(), bridge_claims(), tensor_claims(), tensor_slot_claims(), pipeline_claims(), context_claims()})
    claims.insert(claims.end(), some.begin(), some.end());
  return claims;
}

Verdict verdict_of(const Evidence& evidence, const Finding& finding) {
  if (!evidence.not_run.empty()) return Verdict::not_run;
  assert(!finding.cases.empty());
  const auto count = std::count_if(finding.cases.begin(), finding.cases.end(), [](const Case& c) { return c.holds; });
  if (count == 0) return Verdict::does_not_hold;
  return count == std::ssize(finding.cases) ? Verdict::holds : Verdict::holds_where;
}

std::string_view explanation_of(const Explanations& why, Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return why.holds;
    case Verdict::holds_where: return why.holds_where;
    case Verdict::does_not_hold: return why.does_not_hold;
    case Verdict::not_run: return why.not_run;
  }
  return {};
}

report::PurposeSummary purpose_of(const ClaimCell& cell, const std::string& purpose) {
  if (!cell.run) return {};
  const auto found = cell.run->purposes.find(purpose);
  return found == cell.run->purposes.end() ? report::PurposeSummary{} : found->second;
}

const plan::Knob& knob_of(const plan::Plan& plan, std::string_view name) {
  const auto found =
      std::find_if(plan.knobs.begin(), plan.knobs.end(), [&](const plan::Knob& knob) { return knob.name == name; });
  if (found == plan.knobs.end()) throw std::invalid_argument(fmt::format("the plan says nothing of {}", name));
  return *found;
}

const ClaimCell* partner_of(const Evidence& evidence, const ClaimCell& cell, const std::string& axis,
                            const std::string& value) {
  auto wanted = cell.values;
  wanted[axis] = value;
  const auto found = std::find_if(evidence.cells.begin(), evidence.cells.end(),
                                  [&](const ClaimCell& other) { return other.values == wanted; });
  return found == evidence.cells.end() ? nullptr : &*found;
}

bool is_spelled_in(const Evidence& evidence, std::string_view path, std::string_view section) {
  const std::string beginning = fmt::format("{}.", section);
  for (const plan::KnobInfo& knob : evidence.knobs) {
    if (knob.name != path) continue;
    if (knob.name.starts_with(beginning)) return true;
    return std::any_of(knob.spellings.begin(), knob.spellings.end(),
                       [&](const std::string& spelling) { return spelling.starts_with(beginning); });
  }
  return false;
}

std::string in_ms(double ms) { return fmt::format("{:.1f}", ms); }
std::string in_percent(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string name_of_slot(plan::TensorSlot slot) { return std::string(plan::kTensorSlotNames[slot]); }

}  // namespace underlap::bench
