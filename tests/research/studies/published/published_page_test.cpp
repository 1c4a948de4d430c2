// SPDX-License-Identifier: Apache-2.0
// results/published is made from virtual time: this fails where it is stale, and rewrites it where
// UNDERLAP_UPDATE_GOLDEN is set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "research/studies/published/study.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench {
namespace {

const std::filesystem::path kRoot = UNDERLAP_SOURCE_DIR;

void expect_file(const std::filesystem::path& path, const std::string& content) {
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) testing_support::write_text(path, content);
  EXPECT_EQ(testing_support::read_text(path), content) << path << " is stale: UNDERLAP_UPDATE_GOLDEN=1 renews it";
}

TEST(PublishedPage, SaysWhatVirtualTimeGives) {
  const std::filesystem::path file = kRoot / "bench/matrices/published.yaml";
  const PublishedStudy study = parse_published_study(testing_support::read_text(file), file);
  const std::vector<ModelledTable> tables = run_published(study);
  expect_file(kRoot / "results/published/report.md", published_markdown(study, tables));
  expect_file(kRoot / "results/published/results.json", published_json(tables));
}

}  // namespace
}  // namespace underlap::bench
