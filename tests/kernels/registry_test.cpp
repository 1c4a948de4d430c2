// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace underlap::kernels {
namespace {

using Names = std::multiset<std::string>;

/// "folder/operation" for every function that a header in a folder of kernels/ declares to return an
/// Operation.
Names declared() {
  Names names;
  const std::regex declaration(R"(^Operation (\w+)\()");
  const std::filesystem::path kernels = UNDERLAP_KERNELS_DIR;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kernels)) {
    if (entry.path().extension() != ".hpp" || entry.path().parent_path() == kernels) continue;
    std::ifstream header(entry.path());
    for (std::string line; std::getline(header, line);) {
      std::smatch match;
      if (std::regex_search(line, match, declaration)) {
        names.insert(entry.path().parent_path().filename().string() + "/" + match[1].str());
      }
    }
  }
  return names;
}

TEST(Registry, ListsEveryOperationThatAHeaderDeclares) {
  Names registered;
  for (const KernelInfo& kernel : registered_kernels()) {
    registered.insert(std::string(kernel.folder) + "/" + std::string(kernel.name));
  }
  EXPECT_FALSE(registered.empty());
  EXPECT_EQ(registered, declared());
}

TEST(Registry, SaysWhatEveryOperationDoesAndCosts) {
  for (const KernelInfo& kernel : registered_kernels()) {
    EXPECT_FALSE(kernel.what.empty()) << kernel.name;
    EXPECT_FALSE(kernel.cost.empty()) << kernel.name;
  }
}

}  // namespace
}  // namespace underlap::kernels
