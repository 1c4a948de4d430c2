// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/tensor_uses.hpp"

#include <algorithm>

namespace underlap::check {
namespace {

// True only if it is certain; a false result keeps the use longer and costs only time.
bool covers(const View& outer, const View& inner) {
  if (outer.is_dense()) return outer.offset <= inner.offset && inner.end() <= outer.end();
  return outer.offset == inner.offset && outer.leading_dimension == inner.leading_dimension &&
         outer.cols >= inner.cols && outer.rows >= inner.rows;
}

bool replaces(const PastUse& use, const PastUse& earlier) {
  return (use.access.writes || !earlier.access.writes) && covers(use.access.view, earlier.access.view);
}

}  // namespace

void TensorUses::add(const PastUse& use, const Clocks& clocks) {
  std::erase_if(uses_, [&](const PastUse& earlier) {
    return replaces(use, earlier) && clocks.has_passed(earlier.stream, earlier.position);
  });
  uses_.push_back(use);
}

std::optional<std::uint32_t> TensorUses::last_over(const Marks& marks, const View& view) {
  const auto found =
      std::find_if(marks.rbegin(), marks.rend(), [&](const auto& mark) { return overlap(mark.first, view); });
  return found == marks.rend() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> TensorUses::change_life(bool is_acquire, const View& view, std::uint32_t command) {
  std::optional<std::uint32_t> holder;
  if (is_acquire && held_.has_any(view)) holder = last_over(acquires_, view);
  Marks& marks = is_acquire ? acquires_ : releases_;
  std::erase_if(marks, [&](const auto& mark) { return covers(view, mark.first); });
  marks.emplace_back(view, command);
  written_.remove(view);
  (is_acquire ? held_ : released_).add(view);
  (is_acquire ? released_ : held_).remove(view);
  return holder;
}

std::optional<std::uint32_t> TensorUses::use_released(const View& view) {
  if (!released_.has_any(view)) return std::nullopt;
  released_.remove(view);
  return last_over(releases_, view);
}

}  // namespace underlap::check
