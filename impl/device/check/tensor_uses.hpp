// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "impl/device/check/accesses.hpp"
#include "impl/device/check/clocks.hpp"
#include "impl/device/check/element_set.hpp"

namespace underlap::check {

/// A use of a tensor by a command of a stream.
struct PastUse {
  MemoryAccess access;
  std::uint32_t stream = 0;
  std::uint32_t position = 0;  ///< on that stream
  std::uint32_t command = 0;
};

/// The earlier uses of one tensor, as far as later checks depend on them.
class TensorUses {
 public:
  /// The uses that a later one may yet conflict with.
  const std::vector<PastUse>& uses() const { return uses_; }

  /// Adds the use of the command that `clocks` entered last. Drops an earlier use if everything that conflicts with it
  /// also conflicts with this one, and is ordered after it if ordered after this one. So the list has at most as many
  /// entries as the tensor has parts.
  void add(const PastUse& use, const Clocks& clocks);

  void write(const View& view) { written_.add(view); }
  std::optional<ElementRange> first_unwritten(const View& view) const { return written_.first_missing(view); }

  /// An acquire or a release of `view` by `command`. For an acquire, returns an earlier acquire that still holds any of
  /// it.
  std::optional<std::uint32_t> change_life(bool is_acquire, const View& view, std::uint32_t command);

  /// Returns the release of any part of `view` that was not acquired since; then it counts as acquired.
  std::optional<std::uint32_t> use_released(const View& view);

 private:
  using Marks = std::vector<std::pair<View, std::uint32_t>>;  // views, and the command of each

  static std::optional<std::uint32_t> last_over(const Marks& marks, const View& view);

  std::vector<PastUse> uses_;
  ElementSet written_;
  ElementSet held_;
  ElementSet released_;
  Marks acquires_;
  Marks releases_;
};

}  // namespace underlap::check
