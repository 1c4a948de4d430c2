// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench::study_testing {

/// Expects a file of the repository to hold `content`, and writes it where UNDERLAP_UPDATE_GOLDEN is set.
inline void expect_page(const std::string& path, const std::string& content) {
  const std::filesystem::path file = std::filesystem::path(UNDERLAP_SOURCE_DIR) / path;
  if (std::getenv("UNDERLAP_UPDATE_GOLDEN") != nullptr) testing_support::write_text(file, content);
  EXPECT_EQ(testing_support::read_text(file), content) << path << " is stale: UNDERLAP_UPDATE_GOLDEN=1 renews it";
}

/// The study that `parse` reads from a file of the repository.
template <class Parse>
auto shipped(Parse parse, const std::string& path) {
  const std::filesystem::path file = std::filesystem::path(UNDERLAP_SOURCE_DIR) / path;
  return parse(testing_support::read_text(file), file.string());
}

/// Why `parse` refuses `yaml`, which stands in a.yaml; empty where it does not.
template <class Parse>
std::string complaint(Parse parse, const std::string& yaml) {
  try {
    parse(yaml, "a.yaml");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

/// Files, and a part of why each is refused.
using WrongFiles = std::vector<std::pair<std::string, std::string>>;

template <class Parse>
void expect_refused(Parse parse, const WrongFiles& files) {
  for (const auto& [yaml, words] : files) EXPECT_THAT(complaint(parse, yaml), testing::HasSubstr(words)) << yaml;
}

}  // namespace underlap::bench::study_testing
