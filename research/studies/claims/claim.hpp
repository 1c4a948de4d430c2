// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/plan/tensor_slots.hpp"
#include "platform/table.hpp"
#include "research/studies/claims/evidence.hpp"

namespace underlap::bench {

/// Where a claim stands.
enum class Document : std::uint8_t { nemo_user_guide, bridge_skill_card };

struct DocumentInfo {
  std::string_view title;
  std::string_view address;
};
const DocumentInfo& info_of(Document);

enum class Verdict : std::uint8_t { holds, holds_where, does_not_hold, not_run };

/// "holds", "holds where", "does not hold", "not run by this version".
std::string_view to_string(Verdict);

/// One situation that a claim speaks of, and whether it is so there.
struct Case {
  std::string name;
  bool holds = false;
};

/// What evidence says of a claim.
struct Finding {
  Table found;
  std::vector<Case> cases;  ///< empty where the evidence holds nothing to judge
  std::string note;         ///< a sentence on the table, of its numbers; may be empty
};

/// Why a claim has the verdict that it has; empty for a verdict that it cannot get.
struct Explanations {
  std::string_view holds, holds_where, does_not_hold, not_run;
};

/// One claim about overlap, with the rule by which runs decide on it.
struct Claim {
  std::string_view id;  ///< its matrix is ID.yaml
  Document document;
  std::string_view text;
  bool runs;              ///< false: its matrix is planned alone
  std::string_view rule;  ///< when a case holds, in words
  /// `noticeable`: the share of a step below which a difference of times is none.
  Finding (*examine)(const Evidence& evidence, double noticeable);
  Explanations why;
};

/// All claims: of data parallelism, those of the NeMo user guide first; then of tensor, pipeline and context
/// parallelism.
std::vector<Claim> all_claims();
// Figures and names as the findings have them.
inline constexpr const char* kGradReduceInFp32 = "grad_reduce_in_fp32";
std::string in_ms(double ms);          ///< "1.2"
std::string in_percent(double share);  ///< "12.3"
std::string name_of_slot(plan::TensorSlot);

std::span<const Claim> nemo_claims();
std::span<const Claim> bridge_claims();
std::span<const Claim> tensor_claims();
std::span<const Claim> tensor_slot_claims();
std::span<const Claim> pipeline_claims();
std::span<const Claim> context_claims();

/// holds where every case does, does_not_hold where none does, holds_where between; not_run where the evidence says why
/// this version does not run the matrix. Where it does, there is at least one case.
Verdict verdict_of(const Evidence& evidence, const Finding& finding);

/// The part of `why` that is for `verdict`.
std::string_view explanation_of(const Explanations& why, Verdict verdict);

// For the claims' own files.

/// The communication of one purpose in a run; zeros where there was none.
report::PurposeSummary purpose_of(const ClaimCell& cell, const std::string& purpose);

/// Throws std::invalid_argument where the plan has no knob of that name.
const plan::Knob& knob_of(const plan::Plan& plan, std::string_view name);

/// The cell equal to `cell` in all axes but `axis` (as cells name it), where it is `value`; null where there is none.
const ClaimCell* partner_of(const Evidence& evidence, const ClaimCell& cell, const std::string& axis,
                            const std::string& value);

/// Whether knob `path` has a spelling, its own path included, that begins with `section` and a dot.
bool is_spelled_in(const Evidence& evidence, std::string_view path, std::string_view section);

}  // namespace underlap::bench
