// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/lane_segments.hpp"

#include <algorithm>
#include <cassert>

namespace underlap::viewer {

void Content::add(Shade shade, float ns) {
  if (is_exposed(shade.paint)) {
    exposed_ns += ns;
    exposed = std::max(exposed, shade.paint);
    exposed_modes |= shade.modes;
  } else if (shade.paint == Paint::hidden) {
    hidden_ns += ns;
    hidden_modes |= shade.modes;
  } else if (shade.paint == Paint::compute) {
    compute_ns += ns;
  } else {
    other_ns += ns;
    other = std::max(other, shade.paint);
  }
}

void Content::add(const Content& more) {
  other_ns += more.other_ns;
  compute_ns += more.compute_ns;
  hidden_ns += more.hidden_ns;
  exposed_ns += more.exposed_ns;
  other = std::max(other, more.other);
  exposed = std::max(exposed, more.exposed);
  hidden_modes |= more.hidden_modes;
  exposed_modes |= more.exposed_modes;
}

void Segments::reserve(std::size_t count) {
  begin_ns_.reserve(count);
  length_ns_.reserve(count);
  shade_.reserve(count);
}

void Segments::add(std::int64_t begin_ns, std::int64_t end_ns, Shade shade) {
  assert(begin_ns_.empty() || begin_ns >= this->end_ns(size() - 1));
  if (begin_ns >= end_ns) return;
  begin_ns_.push_back(begin_ns);
  length_ns_.push_back(0);
  shade_.push_back(shade);
  if (!exposed_ns_.empty()) exposed_ns_.push_back(0);
  set_end(end_ns);
}

void Segments::add_communication(std::int64_t begin_ns, std::int64_t end_ns, Shade shade, std::int64_t exposed_ns) {
  add(begin_ns, end_ns, shade);
  if (begin_ns >= end_ns) return;
  exposed_ns_.resize(size());
  exposed_ns_.back() = static_cast<float>(exposed_ns);
}

void Segments::extend(std::int64_t begin_ns, std::int64_t end_ns, Shade shade) {
  const bool touches = size() > 0 && this->end_ns(size() - 1) == begin_ns && this->shade(size() - 1) == shade;
  if (!touches) return add(begin_ns, end_ns, shade);
  if (end_ns > begin_ns) set_end(end_ns);
}

void Segments::set_end(std::int64_t end_ns) {
  const std::int64_t length = end_ns - begin_ns_.back();
  if (length < kLong) {
    length_ns_.back() = static_cast<std::uint32_t>(length);
    return;
  }
  length_ns_.back() = kLong;
  if (long_.empty() || long_.back().first != size() - 1) long_.emplace_back(size() - 1, 0);
  long_.back().second = end_ns;
}

std::int64_t Segments::end_of_long(std::size_t i) const {
  return std::ranges::lower_bound(long_, i, {}, &std::pair<std::size_t, std::int64_t>::first)->second;
}

void Segments::finish() {
  begin_ns_.shrink_to_fit();
  length_ns_.shrink_to_fit();
  shade_.shrink_to_fit();
  exposed_ns_.shrink_to_fit();
  levels_.clear();
  std::size_t below = size();
  while (below > kFanOut) {
    std::vector<Content> level((below + kFanOut - 1) / kFanOut);
    for (std::size_t node = 0; node < level.size(); ++node) {
      const std::size_t from = node * kFanOut, to = std::min(from + kFanOut, below);
      if (levels_.empty()) {
        level[node] = leaf(from, to);
      } else {
        for (std::size_t child = from; child < to; ++child) level[node].add(levels_.back()[child]);
      }
    }
    below = level.size();
    levels_.push_back(std::move(level));
  }
}

std::size_t Segments::first_ending_after(std::int64_t time_ns) const {
  // They do not overlap, so their ends are in order as their begins are.
  const auto next = std::ranges::upper_bound(begin_ns_, time_ns);
  const auto i = static_cast<std::size_t>(next - begin_ns_.begin());
  return i > 0 && end_ns(i - 1) > time_ns ? i - 1 : i;
}

std::size_t Segments::first_beginning_at(std::int64_t time_ns, std::size_t from) const {
  std::size_t low = from, step = 1;
  while (low + step < size() && begin_ns_[low + step] < time_ns) {
    low += step;
    step *= 2;
  }
  const auto end = begin_ns_.begin() + static_cast<std::ptrdiff_t>(std::min(low + step + 1, size()));
  return static_cast<std::size_t>(std::lower_bound(begin_ns_.begin() + static_cast<std::ptrdiff_t>(low), end, time_ns) -
                                  begin_ns_.begin());
}

Content Segments::leaf(std::size_t from, std::size_t to) const {
  Content content;
  for (std::size_t i = from; i < to; ++i) {
    const auto length_ns = static_cast<float>(end_ns(i) - begin_ns_[i]);
    const float exposed = is_divided(i) ? exposed_ns_[i] : length_ns;
    content.add(shade(i), exposed);
    if (exposed < length_ns) content.add({Paint::hidden, shade_[i].modes}, length_ns - exposed);
  }
  return content;
}

// The ends of the range at each level, and the rest one level up.
Content Segments::content(std::size_t from, std::size_t to) const {
  Content sum;
  std::size_t level = 0;
  const auto take = [&](std::size_t begin, std::size_t end) {
    if (level == 0) return sum.add(leaf(begin, end));
    for (std::size_t i = begin; i < end; ++i) sum.add(levels_[level - 1][i]);
  };
  while (from < to) {
    const std::size_t first_node = (from + kFanOut - 1) / kFanOut, last_node = to / kFanOut;
    if (level == levels_.size() || first_node >= last_node) {
      take(from, to);
      break;
    }
    take(from, first_node * kFanOut);
    take(last_node * kFanOut, to);
    from = first_node;
    to = last_node;
    ++level;
  }
  return sum;
}

std::size_t Segments::bytes() const {
  std::size_t bytes = begin_ns_.capacity() * (sizeof(std::int64_t) + sizeof(std::uint32_t) + sizeof(Shade));
  bytes += exposed_ns_.capacity() * sizeof(float);
  for (const auto& level : levels_) bytes += level.capacity() * sizeof(Content);
  return bytes;
}

}  // namespace underlap::viewer
