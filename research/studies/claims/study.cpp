// SPDX-License-Identifier: Apache-2.0
#include "research/studies/claims/study.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "research/studies/study_parser.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kStudy = "overlap_claims";

void read_study(StudyParser& parser, const YAML::Node& root, ClaimsStudy& study) {
  const auto name = [&](const YAML::Node& node) {
    if (!node.IsScalar() || node.Scalar() != kStudy) parser.error(node.Mark(), fmt::format("study must be {}", kStudy));
  };
  parser.map(root, {{"study", name}, {"noticeable", parser.value(study.noticeable, 1e-6, 0.5)}});
}

ClaimResult run_claim(const Claim& claim, const ClaimsStudy& study) {
  const std::string name = fmt::format("{}.yaml", claim.id);
  const std::string file = std::filesystem::path(study.matrices) / name;
  Evidence evidence = gather_evidence(file, claim.runs);
  Finding finding = claim.examine(evidence, study.noticeable);
  if (finding.cases.empty() && evidence.not_run.empty())
    throw std::invalid_argument(fmt::format("{}: none of its cells is a case to judge the claim by", file));
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
  return parsed_study(yaml, where, ClaimsStudy{.matrices = std::filesystem::path(where).parent_path() / "claims"},
                      read_study);
}

std::vector<ClaimResult> run_claims(const ClaimsStudy& study) {
  std::vector<ClaimResult> results;
  for (const Claim& claim : all_claims()) results.push_back(run_claim(claim, study));
  return results;
}

}  // namespace underlap::bench
