// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "viewer/timeline/shade.hpp"

namespace underlap::viewer {

/// What some segments hold together: nanoseconds by kind, and which modes they are of.
struct Content {
  float other_ns = 0;  ///< copies, waits, calls and ranges
  float compute_ns = 0;
  float hidden_ns = 0;
  float exposed_ns = 0;
  Paint other = Paint::nothing;  ///< the highest of those that `other_ns` is of
  Paint exposed = Paint::nothing;
  std::uint8_t hidden_modes = 0;
  std::uint8_t exposed_modes = 0;

  void add(Shade, float ns);
  void add(const Content&);
};

/// One row of a timeline: consecutive pieces of time, each of one shade, with gaps between. A piece takes 14 bytes, or
/// 18 in rows of communication. A tree above the pieces summarizes any range of them without visiting each: a frame
/// takes as long for a million segments as for a thousand.
class Segments {
 public:
  /// Makes room for so many.
  void reserve(std::size_t count);
  /// Adds the next one; it must not begin before the last one ends. One without length counts as nothing.
  void add(std::int64_t begin_ns, std::int64_t end_ns, Shade);
  /// The same; where the last one touches it and has its shade, that one grows.
  void extend(std::int64_t begin_ns, std::int64_t end_ns, Shade);
  /// The same for a whole communication, of which `exposed_ns` ran without compute, in one piece or in many. The shade
  /// is that of its exposed part; hidden if it has no exposed part.
  void add_communication(std::int64_t begin_ns, std::int64_t end_ns, Shade, std::int64_t exposed_ns);
  /// Builds the tree; call once, when all are added.
  void finish();

  std::size_t size() const { return begin_ns_.size(); }
  std::int64_t begin_ns(std::size_t i) const { return begin_ns_[i]; }
  std::int64_t end_ns(std::size_t i) const {
    return length_ns_[i] == kLong ? end_of_long(i) : begin_ns_[i] + length_ns_[i];
  }
  Shade shade(std::size_t i) const { return shade_[i]; }
  /// Whether it is a communication with an exposed part, and perhaps a hidden one. Its rank's strip shows where they
  /// are.
  bool is_divided(std::size_t i) const { return !exposed_ns_.empty() && is_exposed(shade_[i].paint); }

  /// The first that ends after `time_ns`; size() where none does.
  std::size_t first_ending_after(std::int64_t time_ns) const;
  /// The first, from `from` on, that begins at `time_ns` or later. In the logarithm of how far away it is.
  std::size_t first_beginning_at(std::int64_t time_ns, std::size_t from) const;
  /// What those of [from, to) hold.
  Content content(std::size_t from, std::size_t to) const;
  /// What memory they take.
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kFanOut = 16;
  static constexpr std::uint32_t kLong = ~std::uint32_t{0};  ///< marks a length that is stored in long_

  Content leaf(std::size_t from, std::size_t to) const;
  std::int64_t end_of_long(std::size_t i) const;
  void set_end(std::int64_t end_ns);  ///< of the last one

  std::vector<std::int64_t> begin_ns_;
  std::vector<std::uint32_t> length_ns_;
  std::vector<Shade> shade_;
  std::vector<float> exposed_ns_;                           ///< of each, where one is a communication
  std::vector<std::pair<std::size_t, std::int64_t>> long_;  ///< those of more than four seconds, and their ends
  std::vector<std::vector<Content>> levels_;  ///< of kFanOut segments each, then of kFanOut of the level below
};

}  // namespace underlap::viewer
