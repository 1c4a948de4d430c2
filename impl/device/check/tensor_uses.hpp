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

/// What has been done to one tensor so far, as far as anything still depends on it.
class TensorUses {
 public:
  /// The uses that a later one may yet conflict with.
  const std::vector<PastUse>& uses() const { return uses_; }

  /// Adds the use of the command that `clocks` entered last. Drops earlier ones where whatever conflicts with them
  /// conflicts with this one too, and comes after them where it comes after this one: so the list stays as short as the
  /// tensor has parts.
  void add(const PastUse& use, const Clocks& clocks);

  void write(const View& view) { written_.add(view); }
  std::optional<ElementRange> first_unwritten(const View& view) const { return written_.first_missing(view); }

  /// An acquire or a release of `view` by `command`. Returns the acquire that still holds any of it where it is
  /// acquired again.
  std::optional<std::uint32_t> change_life(bool is_acquire, const View& view, std::uint32_t command);

  /// Returns the release that gave any of `view` back where it was not acquired since; then it counts as acquired.
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
