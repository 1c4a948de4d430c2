// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "profiler/trace/trace.hpp"

namespace underlap {

/// Communications that consist of several copies, by copy engines: each copy is a slice of the trace, and all of them
/// together are one communication. The first has the record, the others name its group, sequence and collective.
class CommunicationParts {
 public:
  /// The trace must outlive this.
  explicit CommunicationParts(const Trace&);

  /// Whether further slices continue the communication of `slice`.
  bool has_parts(std::size_t slice) const { return last_end_.contains(slice); }
  /// The end of the whole communication that starts with `slice`.
  std::int64_t end_ns(std::size_t slice) const;
  /// The slice with which the communication of `slice` starts.
  std::size_t first_of(std::size_t slice) const;

  /// Gives the parts the group, sequence, collective and last arrival that their first slice has now.
  void update(Trace&) const;

 private:
  const Trace& trace_;
  std::unordered_map<std::size_t, std::size_t> first_;      ///< of the other slices
  std::unordered_map<std::size_t, std::int64_t> last_end_;  ///< by first slice
};

}  // namespace underlap
