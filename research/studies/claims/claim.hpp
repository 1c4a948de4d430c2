// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "research/studies/claims/evidence.hpp"

namespace underlap::bench {

/// The document that makes a claim.
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

/// One situation that a claim covers, and whether the claim holds there.
struct Case {
  std::string name;
  bool holds = false;
};

/// What the evidence shows about a claim.
struct Finding {
  Table found;
  std::vector<Case> cases;  ///< empty if the evidence contains nothing to judge
  std::string note;         ///< a sentence that summarizes the table's numbers; may be empty
};

/// The reason for each verdict of a claim.
struct Explanations {
  std::string holds, holds_where, does_not_hold;
};

/// One claim about overlap from a study's file. The judge of the same id evaluates it.
struct Claim {
  std::string id;  ///< its matrix is ID.yaml
  Document document = Document::nemo_user_guide;
  std::string text;
  bool runs = true;  ///< false: its matrix is only planned
  std::string rule;  ///< when a case holds, in words
  Explanations why;
};

/// holds if every case holds, does_not_hold if no case does, holds_where otherwise. not_run if the evidence gives a
/// reason why this version does not run the matrix; without such a reason there is at least one case.
Verdict verdict_of(const Evidence& evidence, const Finding& finding);

/// The part of `why` for `verdict`; empty for not_run.
std::string_view explanation_of(const Explanations& why, Verdict verdict);

}  // namespace underlap::bench
