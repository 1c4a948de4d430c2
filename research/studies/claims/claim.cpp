// SPDX-License-Identifier: Apache-2.0
#include "research/studies/claims/claim.hpp"

#include <cassert>

#include "profiler/trace/enum_names.hpp"

namespace underlap::bench {
namespace {

constexpr EnumNames<Verdict, 4> kVerdicts{{"holds", "holds where", "does not hold", "not run by this version"}};

constexpr std::array<DocumentInfo, 2> kDocuments{{
    {"nemo_user_guide", "NeMo Framework user guide 25.09, Communication Overlap",
     "https://docs.nvidia.com/nemo-framework/user-guide/25.09/nemotoolkit/features/optimizations/"
     "communication_overlap.html"},
    {"bridge_skill_card", "Megatron-Bridge skill card, TP / DP / PP Communication Overlap",
     "https://docs.nvidia.com/nemo/megatron-bridge/latest/skills/perf-techniques/tp-dp-comm-overlap/SKILL.html"},
}};

}  // namespace

const DocumentInfo& info_of(Document document) { return kDocuments[static_cast<std::size_t>(document)]; }

std::string_view to_string(Verdict verdict) { return kVerdicts[verdict]; }

Verdict verdict_of(const Evidence& evidence, const Finding& finding) {
  if (!evidence.not_run.empty()) return Verdict::not_run;
  assert(!finding.cases.empty());
  const auto count = std::ranges::count_if(finding.cases, [](const Case& c) { return c.holds; });
  if (count == 0) return Verdict::does_not_hold;
  return count == std::ssize(finding.cases) ? Verdict::holds : Verdict::holds_where;
}

std::string_view explanation_of(const Explanations& why, Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return why.holds;
    case Verdict::holds_where: return why.holds_where;
    case Verdict::does_not_hold: return why.does_not_hold;
    case Verdict::not_run: break;
  }
  return {};
}

}  // namespace underlap::bench
