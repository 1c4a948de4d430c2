// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/attribution/attribution.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::testing_support {

/// What a foreign trace would hold of the communicators of one of ours.
struct HiddenTags {
  enum class Groups : std::uint8_t {
    named,      ///< with what Megatron calls them
    exported,   ///< with what our own Kineto files call them
    undefined,  ///< without a name
    unknown     ///< none, and no record of any communication
  };
  std::string name;
  Groups groups = Groups::named;
  bool has_ranks = true;   ///< false: only the number of a group's ranks
  bool has_config = true;  ///< the sizes of parallelism are known
};

/// `ours` as a reader of a foreign format would leave it: communication is kernels with NCCL's names, nothing has a
/// tag, and the groups say what `how` says. Slices stand in the same order.
Trace hide_tags(const Trace& ours, const HiddenTags& how);

/// Communication of which the mode was told right, wrong and not at all, in ns.
struct Recovered {
  std::int64_t right_ns = 0;
  std::int64_t wrong_ns = 0;
  std::int64_t unattributed_ns = 0;
  std::int64_t not_taken_ns = 0;  ///< taken for compute

  std::int64_t all_ns() const { return right_ns + wrong_ns + unattributed_ns + not_taken_ns; }
  double right_pct() const { return 100 * static_cast<double>(right_ns) / static_cast<double>(all_ns()); }
};

}  // namespace underlap::testing_support
