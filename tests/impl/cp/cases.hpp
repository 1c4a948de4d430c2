// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <ostream>

#include "impl/cp/attention.hpp"
#include "impl/plan/config.hpp"

namespace underlap::cp {

/// A technique and the group that it is tried on.
struct CpCase {
  std::string name;
  plan::CpCommType comm_type = plan::CpCommType::p2p;
  std::int32_t num_ranks = 1;
  std::optional<std::array<std::int32_t, 2>> groups{};  ///< of a2a+p2p
  bool overlap = true;
  bool nccl_high_priority = false;

  plan::Config config() const {
    plan::Config config;
    config.parallel.context_parallel_size = num_ranks;
    config.context.cp_comm_type = {comm_type};
    config.context.hierarchical_context_parallel_sizes = groups;
    config.extensions.cp_overlap = overlap;
    config.environment.torch_nccl_high_priority = nccl_high_priority;
    return config;
  }
  CpCase blocking() const {
    CpCase other = *this;
    other.overlap = false;
    return other;
  }
};

inline void PrintTo(const CpCase& c, std::ostream* out) { *out << c.name << (c.overlap ? "" : ", blocking"); }

/// Every exchange on two and four ranks.
inline std::vector<CpCase> overlapped_cases() {
  using plan::CpCommType;
  std::vector<CpCase> cases;
  for (const std::int32_t c : {2, 4}) {
    cases.push_back({"P2p" + std::to_string(c), CpCommType::p2p, c});
    cases.push_back({"AllGather" + std::to_string(c), CpCommType::all_gather, c});
    cases.push_back({"A2a" + std::to_string(c), CpCommType::a2a, c});
  }
  cases.push_back({"A2aP2p2x2", CpCommType::a2a_p2p, 4, {{2, 2}}});
  return cases;
}

inline std::vector<CpCase> all_cases() {
  std::vector<CpCase> cases = overlapped_cases();
  for (const CpCase& c : overlapped_cases()) cases.push_back(c.blocking());
  return cases;
}

/// Of a parameterised test.
struct CpCaseName {
  template <class Parameter>
  std::string operator()(const Parameter& parameter) const {
    return parameter.param.name + (parameter.param.overlap ? "" : "Blocking");
  }
};

}  // namespace underlap::cp
