// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "research/studies/claims/evidence.hpp"

namespace underlap::bench {

/// Where a claim stands.
enum class Document : std::uint8_t { nemo_user_guide, bridge_skill_card };

struct DocumentInfo {
  std::string_view name;  ///< in a study's file
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

/// Why a claim has the verdict that it has.
struct Explanations {
  std::string holds, holds_where, does_not_hold;
};

/// One claim about overlap, as a study's file has it. The judge of the same id decides on it.
struct Claim {
  std::string id;  ///< its matrix is ID.yaml
  Document document = Document::nemo_user_guide;
  std::string text;
  bool runs = true;  ///< false: its matrix is planned alone
  std::string rule;  ///< when a case holds, in words
  Explanations why;
};

/// holds where every case does, does_not_hold where none does, holds_where between; not_run where the evidence says why
/// this version does not run the matrix. Where it does, there is at least one case.
Verdict verdict_of(const Evidence& evidence, const Finding& finding);

/// The part of `why` that is for `verdict`; empty for not_run.
std::string_view explanation_of(const Explanations& why, Verdict verdict);

}  // namespace underlap::bench
