// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platform/table.hpp"
#include "research/studies/claims/claim.hpp"

namespace underlap::bench {

/// Compares claims with runs.
struct ClaimsStudy {
  std::string matrices;      ///< folder of the claims' matrices, ID.yaml each
  double noticeable = 0.01;  ///< share of a step below which a difference of times does not count; above 0, below 1
  std::vector<Claim> claims;
};

/// One claim and its result.
struct ClaimResult {
  Claim claim;
  std::string command;  ///< repeats its runs, or its plan, from the root of the project
  std::string link;     ///< source of the times; empty if nothing ran
  std::vector<std::string> not_run;
  Finding finding;
  Verdict verdict = Verdict::not_run;
};

/// Reads a study, e.g. bench/matrices/claims.yaml; the matrices are in the folder claims next to the file `where`.
/// Throws std::invalid_argument with every error, one line each: `where`:line:column: the error.
ClaimsStudy parse_claims_study(const std::string& yaml, const std::string& where);

/// Plans and runs the claims' matrices in virtual time, bit-for-bit the same on any machine. Takes seconds. Throws as
/// gather_evidence() does.
std::vector<ClaimResult> run_claims(const ClaimsStudy& study);

/// Number, claim and verdict of each.
Table claims_table(const std::vector<ClaimResult>& results);

/// Study and results, schema underlap.claims/1.
std::string claims_json(const ClaimsStudy& study, const std::vector<ClaimResult>& results);

std::string claims_markdown(const ClaimsStudy& study, const std::vector<ClaimResult>& results);

}  // namespace underlap::bench
