// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platform/table.hpp"
#include "research/studies/claims/claim.hpp"

namespace underlap::bench {

/// Holds claims against runs.
struct ClaimsStudy {
  std::string matrices;      ///< folder of the claims' matrices, ID.yaml each
  double noticeable = 0.01;  ///< share of a step below which a difference of times is none; above 0, below 1
  std::vector<Claim> claims;
};

/// One claim and what came of it.
struct ClaimResult {
  Claim claim;
  std::string command;  ///< which repeats its runs, or its plan, from the root of the project
  std::string link;     ///< whose times these are; empty where nothing ran
  std::vector<std::string> not_run;
  Finding finding;
  Verdict verdict = Verdict::not_run;
};

/// Reads a study, e.g. bench/matrices/claims.yaml; the matrices lie in the folder claims beside the file `where`.
/// Throws std::invalid_argument with every error, a line each: `where`:line:column: what is wrong.
ClaimsStudy parse_claims_study(const std::string& yaml, const std::string& where);

/// Plans and runs the claims' matrices, in virtual time and to the bit the same on any machine. Takes seconds.
/// Throws as gather_evidence() does.
std::vector<ClaimResult> run_claims(const ClaimsStudy& study);

/// Number, claim and verdict of each.
Table claims_table(const std::vector<ClaimResult>& results);

/// Study and results, schema underlap.claims/1.
std::string claims_json(const ClaimsStudy& study, const std::vector<ClaimResult>& results);

std::string claims_markdown(const ClaimsStudy& study, const std::vector<ClaimResult>& results);

}  // namespace underlap::bench
