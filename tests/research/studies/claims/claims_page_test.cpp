// SPDX-License-Identifier: Apache-2.0
// results/claims.md and claims.json are made from runs: this fails where they are stale, and rewrites them where
// UNDERLAP_UPDATE_GOLDEN is set.
#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "research/studies/claims/study.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

ClaimsStudy shipped_study() { return study_testing::shipped(parse_claims_study, "bench/matrices/claims.yaml"); }

TEST(ClaimsPage, SaysWhatItsRunsFind) {
  const ClaimsStudy study = shipped_study();
  const std::vector<ClaimResult> results = run_claims(study);
  study_testing::expect_page("results/claims.md", claims_markdown(study, results));
  study_testing::expect_page("results/claims.json", claims_json(study, results));
}

TEST(ClaimsPage, EveryMatrixInTheFolderIsThatOfAClaim) {
  std::set<std::string> names, files;
  for (const Claim& claim : shipped_study().claims) names.insert(std::string(claim.id) + ".yaml");
  for (const auto& entry : std::filesystem::directory_iterator(shipped_study().matrices))
    files.insert(entry.path().filename());
  EXPECT_EQ(files, names);
}

}  // namespace
}  // namespace underlap::bench
