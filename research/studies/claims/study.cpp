// SPDX-License-Identifier: Apache-2.0
#include "research/studies/claims/study.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "research/studies/claims/judge.hpp"
#include "research/studies/study_parser.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kStudy = "overlap_claims";

bool is_whole(const Claim& claim) {
  const Explanations& why = claim.why;
  for (const std::string& text : {claim.text, claim.rule, why.holds, why.holds_where, why.does_not_hold})
    if (text.empty()) return false;
  return true;
}

// {id: layer_grain, document: nemo_user_guide, claim: ..., runs: true, rule: ..., holds: ..., does_not_hold: ...}
void read_claim(StudyParser& parser, const YAML::Node& node, Claim& claim) {
  const auto document = [&](const YAML::Node& name) {
    for (const Document known : {Document::nemo_user_guide, Document::bridge_skill_card})
      if (name.IsScalar() && name.Scalar() == info_of(known).name) return void(claim.document = known);
    parser.error(name.Mark(), "must be nemo_user_guide or bridge_skill_card");
  };
  const auto runs = [&](const YAML::Node& value) {
    if (!YAML::convert<bool>::decode(value, claim.runs)) parser.error(value.Mark(), "must be true or false");
  };
  parser.map(node, {{"id", parser.text(claim.id)},
                    {"document", document},
                    {"claim", parser.text(claim.text)},
                    {"runs", runs},
                    {"rule", parser.text(claim.rule)},
                    {"holds", parser.text(claim.why.holds)},
                    {"holds_where", parser.text(claim.why.holds_where)},
                    {"does_not_hold", parser.text(claim.why.does_not_hold)}});
  if (judge_of(claim.id) == nullptr) parser.error(node.Mark(), fmt::format("no check for the claim \"{}\"", claim.id));
  if (!is_whole(claim)) parser.error(node.Mark(), "a claim needs claim, rule, holds, holds_where and does_not_hold");
}

void read_study(StudyParser& parser, const YAML::Node& root, ClaimsStudy& study) {
  const auto claims =
      parser.each([&](const YAML::Node& claim) { read_claim(parser, claim, study.claims.emplace_back()); });
  parser.map(
      root,
      {{"study", parser.name(kStudy)}, {"noticeable", parser.value(study.noticeable, 1e-6, 0.5)}, {"claims", claims}});
}

ClaimResult run_claim(const Claim& claim, const ClaimsStudy& study) {
  const std::string name = fmt::format("{}.yaml", claim.id);
  const std::string file = std::filesystem::path(study.matrices) / name;
  Evidence evidence = gather_evidence(file, claim.runs);
  Finding finding = examine(*judge_of(claim.id), evidence, study.noticeable);
  if (finding.cases.empty() && evidence.not_run.empty())
    throw std::invalid_argument(fmt::format("{}: no cell is a case for the claim", file));
  const Verdict verdict = verdict_of(evidence, finding);
  const bool is_run = claim.runs && evidence.not_run.empty();
  return {.claim = claim,
          .command = fmt::format("underlap {} bench/matrices/claims/{}", is_run ? "run" : "plan", name),
          .link = std::move(evidence.link),
          .not_run = std::move(evidence.not_run),
          .finding = std::move(finding),
          .verdict = verdict};
}

}  // namespace

ClaimsStudy parse_claims_study(const std::string& yaml, const std::string& where) {
  return parsed_study(yaml, where,
                      ClaimsStudy{.matrices = std::filesystem::path(where).parent_path() / "claims", .claims = {}},
                      read_study);
}

std::vector<ClaimResult> run_claims(const ClaimsStudy& study) {
  std::vector<ClaimResult> results;
  for (const Claim& claim : study.claims) results.push_back(run_claim(claim, study));
  return results;
}

}  // namespace underlap::bench
