// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/element_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace underlap::check {
namespace {

std::vector<ElementRange> ranges_of(const View& view) {
  if (view.elements() == 0) return {};
  if (view.is_dense()) return {{view.offset, view.end()}};
  std::vector<ElementRange> rows;
  rows.reserve(static_cast<std::size_t>(view.rows));
  for (std::int64_t row = 0; row < view.rows; ++row) {
    const std::int64_t begin = view.offset + row * view.leading_dimension;
    rows.push_back({begin, begin + view.cols});
  }
  return rows;
}

// The first of the sorted ranges that ends after `element`.
auto first_behind(const std::vector<ElementRange>& ranges, std::int64_t element) {
  return std::upper_bound(ranges.begin(), ranges.end(), element,
                          [](std::int64_t value, const ElementRange& range) { return value < range.end; });
}

}  // namespace

bool ElementSet::contains(const ElementRange& range) const {
  const auto found = first_behind(ranges_, range.begin);
  return found != ranges_.end() && found->begin <= range.begin && range.end <= found->end;
}

void ElementSet::add(const View& view) {
  if (view.elements() == 0 || contains({view.offset, view.end()})) return;
  std::vector<ElementRange> all = ranges_of(view);
  const auto middle = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), ranges_.begin(), ranges_.end());
  std::inplace_merge(all.begin(), all.begin() + middle, all.end(),
                     [](const ElementRange& a, const ElementRange& b) { return a.begin < b.begin; });
  ranges_.clear();
  for (const ElementRange& range : all) {
    if (!ranges_.empty() && range.begin <= ranges_.back().end)
      ranges_.back().end = std::max(ranges_.back().end, range.end);
    else
      ranges_.push_back(range);
  }
}

void ElementSet::remove(const View& view) {
  if (!has_any(view)) return;
  const std::vector<ElementRange> holes = ranges_of(view);
  std::vector<ElementRange> kept;
  auto hole = holes.begin();
  for (ElementRange range : ranges_) {
    while (hole != holes.end() && hole->end <= range.begin) ++hole;
    for (auto h = hole; h != holes.end() && h->begin < range.end; ++h) {
      if (range.begin < h->begin) kept.push_back({range.begin, h->begin});
      range.begin = std::max(range.begin, std::min(h->end, range.end));
    }
    if (range.begin < range.end) kept.push_back(range);
  }
  ranges_ = std::move(kept);
}

std::optional<ElementRange> ElementSet::first_missing(const View& view) const {
  if (view.elements() == 0 || contains({view.offset, view.end()})) return std::nullopt;
  for (const ElementRange& row : ranges_of(view)) {
    if (contains(row)) continue;
    const auto next = first_behind(ranges_, row.begin);
    if (next == ranges_.end() || next->begin >= row.end) return row;
    if (next->begin > row.begin) return ElementRange{row.begin, next->begin};
    const auto after = std::next(next);
    return ElementRange{next->end, after == ranges_.end() ? row.end : std::min(row.end, after->begin)};
  }
  return std::nullopt;
}

bool ElementSet::has_any(const View& view) const {
  if (ranges_.empty() || view.elements() == 0) return false;
  const auto near = first_behind(ranges_, view.offset);
  if (near == ranges_.end() || near->begin >= view.end()) return false;
  const std::vector<ElementRange> rows = ranges_of(view);
  return std::any_of(rows.begin(), rows.end(), [&](const ElementRange& row) {
    const auto found = first_behind(ranges_, row.begin);
    return found != ranges_.end() && found->begin < row.end;
  });
}

}  // namespace underlap::check
