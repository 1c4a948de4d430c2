// SPDX-License-Identifier: Apache-2.0
// results/published is made from virtual time: this fails where it is stale, and rewrites it where
// UNDERLAP_UPDATE_GOLDEN is set.
#include "research/studies/published/study.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

TEST(PublishedPage, SaysWhatVirtualTimeGives) {
  const PublishedStudy study = study_testing::shipped(parse_published_study, "bench/matrices/published.yaml");
  const std::vector<ModelledTable> tables = run_published(study);
  study_testing::expect_page("results/published/report.md", published_markdown(study, tables));
  study_testing::expect_page("results/published/results.json", published_json(tables));
}

}  // namespace
}  // namespace underlap::bench
