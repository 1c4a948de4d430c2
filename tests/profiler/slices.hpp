// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::testing_support {

inline Slice slice_of(std::uint32_t track, std::int64_t start, std::int64_t length, std::string_view name = "",
                      const Tag& tag = {}) {
  return {.track = track, .start_ns = start, .duration_ns = length, .name = intern(name), .tag = tag};
}

/// As readers of foreign formats leave it: nobody says of which mode it is.
inline Slice foreign_slice(std::uint32_t track, std::int64_t start, std::int64_t end, std::string_view name,
                           Kind kind = Kind::compute) {
  Slice slice = slice_of(track, start, end - start, name, {.kind = kind});
  slice.attribution = kNotAttributed;
  return slice;
}

/// Calls, ranges and waits, which are no work of a device.
inline constexpr Tag kNoWork{.kind = Kind::none};

inline Tag communication(Mode mode, std::string_view purpose, std::int32_t step = -1) {
  return {.kind = Kind::communication, .mode = mode, .purpose = intern(purpose), .step = step};
}

/// Of all slices, as the trace has them.
inline std::vector<std::string> names_of(const Trace& trace) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < trace.size(); ++i) names.emplace_back(name_of(trace.name(i)));
  return names;
}

/// The first slice of that name; throws std::out_of_range where there is none.
inline std::uint32_t slice_named(const Trace& trace, std::string_view name) {
  for (std::uint32_t i = 0; i < trace.size(); ++i)
    if (name_of(trace.name(i)) == name) return i;
  throw std::out_of_range("no slice " + std::string(name));
}

}  // namespace underlap::testing_support
