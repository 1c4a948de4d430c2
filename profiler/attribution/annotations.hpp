// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::attribution {

/// The meaning of a range, an annotation or a frame of a host stack for the work launched in it.
struct AnnotationMeaning {
  Mode mode = Mode::none;                           ///< none: only known to be a collective
  std::uint8_t confidence_pct = 0;                  ///< of the mode
  std::optional<std::string_view> collective = {};  ///< the name of the collective, if it is a launch
  std::string_view only = {};                       ///< the mode holds for slices of this purpose; empty: all
};

/// nullopt if the name does not describe communication.
std::optional<AnnotationMeaning> meaning_of_annotation(std::string_view name);

/// The annotations of a trace in which its work was launched.
class Annotations {
 public:
  explicit Annotations(const Trace&);

  /// The innermost annotation with a mode around the launch of `slice`, or around it on its own stream; nullopt: none.
  /// The number is that of the annotation's slice.
  std::optional<std::size_t> with_mode(std::size_t slice) const;
  /// The innermost that names a collective.
  std::optional<std::size_t> with_collective(std::size_t slice) const;

 private:
  struct Range {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t slice = 0;
    std::int64_t enclosing = -1;  // the nearest that holds it, among those of its row
    AnnotationMeaning meaning;
  };
  // Rank, whether it is a device's, and number of thread or stream.
  using Row = std::tuple<std::int32_t, bool, std::int32_t>;

  template <class Wanted>
  std::optional<std::size_t> find(std::size_t slice, const Wanted& wanted) const;
  template <class Wanted>
  std::optional<std::size_t> find(const Row& row, std::int64_t time_ns, const Wanted& wanted) const;

  const Trace& trace_;
  std::map<Row, std::vector<Range>> rows_;
  std::vector<std::uint32_t> launched_by_;  // of each slice the slice of its call; empty without launches
};

}  // namespace underlap::attribution
