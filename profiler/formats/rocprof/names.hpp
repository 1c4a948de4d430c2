// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/trace/name.hpp"

namespace underlap::formats::rocprof {

/// A processor of the machine.
struct Agent {
  std::int32_t number = -1;  ///< of a GPU, on its machine
  bool is_gpu = false;
  std::string product;
};

/// The tables of a process to which its records refer by number.
class Names {
 public:
  /// Each takes the text of one member of the process. Entries that cannot be read are left out.
  void read_agents(std::string_view array);
  void read_kernels(std::string_view array);
  void read_strings(std::string_view object);

  /// nullptr for an agent that is not in the table.
  const Agent* agent(std::int64_t handle) const;
  /// The readable name of a kernel; kNoName where the table has none.
  NameId kernel(std::int64_t id);
  /// The name of an operation, as "hipLaunchKernel"; kNoName where the table has none.
  NameId operation(std::int64_t kind, std::int64_t number) const;
  /// The text of a roctx range; kNoName for a record without one.
  NameId marker(std::int64_t correlation) const;

 private:
  std::map<std::int64_t, Agent> agents_;
  std::unordered_map<std::int64_t, std::string> kernel_texts_;
  std::unordered_map<std::int64_t, NameId> kernels_;  ///< cache of the names looked up
  std::vector<std::vector<NameId>> operations_;       ///< by kind
  std::unordered_map<std::int64_t, NameId> markers_;
};

}  // namespace underlap::formats::rocprof
