// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// A search. "gemm mode:dp rank:3 stream:comm": words that a slice's name or purpose must contain, in any case, and
/// conditions on its tag and its place.
struct SearchQuery {
  std::vector<std::string> words;  ///< in lower case
  std::optional<Mode> mode;
  std::optional<Kind> kind;
  std::optional<std::int32_t> rank;
  std::string stream;         ///< what the stream's name must hold, in lower case
  bool only_exposed = false;  ///< "exposed"

  bool is_empty() const { return *this == SearchQuery(); }
  friend bool operator==(const SearchQuery&, const SearchQuery&) = default;
};

/// Throws std::invalid_argument, with the words that there are, for a mode, a kind or a rank that is none.
SearchQuery parse_query(std::string_view text);

/// The slices that fit, in the order of the trace. Ten million take a tenth of a second.
std::vector<std::uint32_t> find_slices(const Timeline&, const SearchQuery&);

/// The slices that do the same as `slice`: of its purpose and mode where it has a purpose, else of its name.
std::vector<std::uint32_t> find_alike(const Timeline&, std::uint32_t slice);

enum class Towards : std::uint8_t { later, earlier };

/// The next of `found` from `from` on, by begin and then by number; on the same rank if `rank` is given.
/// Timeline::kNoSlice if there is none.
std::uint32_t next_of(const Timeline&, const std::vector<std::uint32_t>& found, std::uint32_t from, Towards,
                      std::optional<std::int32_t> rank = {});

/// Those with the longest exposed time, longest first; of a trace whose steps are known those in its steps, since what
/// lies before the first is no training yet.
std::vector<ExposedSlice> worst_exposed(const Timeline&, std::size_t most);

}  // namespace underlap::viewer
