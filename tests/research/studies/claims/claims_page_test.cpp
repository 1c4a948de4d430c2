// SPDX-License-Identifier: Apache-2.0
// results/claims.md and claims.json are made from runs: this fails where they are stale, and rewrites them where
// UNDERLAP_UPDATE_GOLDEN is set.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "research/studies/claims/study.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench {
namespace {

const std::filesystem::path kRoot = UNDERLAP_SOURCE_DIR;

void expect_file(const std::filesystem::path& path, const std::string& content) {
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) testing_support::write_text(path, content);
  EXPECT_EQ(testing_support::read_text(path), content) << path << " is stale: UNDERLAP_UPDATE_GOLDEN=1 renews it";
}

ClaimsStudy shipped_study() {
  const std::filesystem::path file = kRoot / "bench/matrices/claims.yaml";
  return parse_claims_study(testing_support::read_text(file), file);
}

TEST(ClaimsPage, SaysWhatItsRunsFind) {
  const ClaimsStudy study = shipped_study();
  const std::vector<ClaimResult> results = run_claims(study);
  expect_file(kRoot / "results/claims.md", claims_markdown(study, results));
  expect_file(kRoot / "results/claims.json", claims_json(study, results));
}

TEST(ClaimsPage, EveryMatrixInTheFolderIsThatOfAClaim) {
  std::set<std::string> names, files;
  for (const Claim& claim : all_claims()) names.insert(std::string(claim.id) + ".yaml");
  for (const auto& entry : std::filesystem::directory_iterator(shipped_study().matrices))
    files.insert(entry.path().filename());
  EXPECT_EQ(files, names);
}

}  // namespace
}  // namespace underlap::bench
