// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace underlap::cupti {

/// Activity buffers as CUPTI filled them, kept so that the parser can be tested where there is no GPU.
struct Recording {
  std::uint32_t cupti_version = 0;
  /// What made it: gpu, driver, cupti, command, and origin (recorded).
  std::map<std::string, std::string> about{};
  std::map<std::uint64_t, std::string> names{};  ///< strings that records point to, by their address in that process
  std::vector<std::vector<std::uint8_t>> buffers{};
};

}  // namespace underlap::cupti
