// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/pftrace/slices.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace underlap::formats::pftrace {
namespace {

// 104 days: sums of many durations stay in range.
constexpr std::int64_t kMostSliceNs = std::int64_t{1} << 53;

class Pairing {
 public:
  explicit Pairing(Events& events) : events_(events) {}

  std::vector<PairedSlice> pair(const Reading& reading) {
    std::vector<std::vector<std::uint32_t>> of_track(events_.tracks.size());
    for (std::uint32_t i = 0; i < events_.events.size(); ++i)
      if (events_.events[i].type != EventType::counter) of_track[events_.events[i].track].push_back(i);
    for (std::vector<std::uint32_t>& list : of_track) {
      reading.check();
      pair_track(list);
    }
    return std::move(slices_);
  }

 private:
  struct Open {
    std::uint32_t event = 0;
    bool has_child = false;
  };

  const Event& at(std::uint32_t index) const { return events_.events[index]; }
  bool is_end(std::uint32_t index) const { return at(index).type == EventType::end; }
  void skip(std::string_view reason) { ++events_.skipped[reason]; }

  void pair_track(std::vector<std::uint32_t>& list) {
    const auto by_time = [&](std::uint32_t a, std::uint32_t b) { return at(a).time_ns < at(b).time_ns; };
    if (alternates(list)) {
      for (std::size_t i = 0; i < list.size(); i += 2)
        i + 1 < list.size() ? close({list[i]}, at(list[i + 1]).time_ns) : leave_open({list[i]});
      return;
    }
    const bool is_in_order = std::is_sorted(list.begin(), list.end(), by_time);
    if (!is_in_order) std::stable_sort(list.begin(), list.end(), by_time);
    stack_.clear();
    for (std::size_t first = 0; first < list.size();) {
      std::size_t last = first + 1;
      if (!is_in_order)
        while (last < list.size() && at(list[last]).time_ns == at(list[first]).time_ns) ++last;
      take_moment({list.data() + first, last - first});
      first = last;
    }
    for (const Open& open : stack_) leave_open(open);
  }

  // Whether each end directly follows its start.
  bool alternates(const std::vector<std::uint32_t>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (is_end(list[i]) != (i % 2 == 1)) return false;
      if (i % 2 == 1 && at(list[i]).time_ns < at(list[i - 1]).time_ns) return false;
    }
    return true;
  }

  // Events at the same time: ends of earlier slices, then starts, then ends of slices without duration.
  void take_moment(std::span<const std::uint32_t> moment) {
    std::size_t num_ends = 0;
    for (const std::uint32_t index : moment) {
      if (!is_end(index)) continue;
      if (stack_.empty())
        ++num_ends;
      else
        close_last(at(index).time_ns);
    }
    for (const std::uint32_t index : moment)
      if (!is_end(index)) stack_.push_back({index});
    for (; num_ends > 0; --num_ends)
      stack_.empty() ? skip("end of a slice without a start") : close_last(at(moment.front()).time_ns);
  }

  void close_last(std::int64_t end_ns) {
    const Open open = stack_.back();
    stack_.pop_back();
    if (!stack_.empty()) stack_.back().has_child = true;
    close(open, end_ns);
  }

  void leave_open(const Open& open) {
    const Arguments* const arguments = arguments_of(open.event);
    if (arguments == nullptr || arguments->end_ns < 0) return skip("slice without an end");
    close(open, arguments->end_ns);
  }

  const Arguments* arguments_of(std::uint32_t event) const {
    const std::uint32_t index = at(event).arguments;
    return index == kNone ? nullptr : &events_.arguments[index];
  }

  void close(const Open& open, std::int64_t end_ns) {
    std::int64_t start_ns = at(open.event).time_ns;
    const Arguments* const arguments = arguments_of(open.event);
    constexpr std::int64_t kMostTimeNs = std::int64_t{1} << 61;
    if (arguments != nullptr && arguments->begin_ns >= 0 && arguments->end_ns >= arguments->begin_ns &&
        arguments->end_ns <= kMostTimeNs) {
      start_ns = arguments->begin_ns;
      end_ns = arguments->end_ns;
    }
    std::int64_t duration_ns = end_ns - start_ns;
    if (duration_ns < 0) return skip("negative duration");
    if (duration_ns > kMostSliceNs) return skip("invalid or overflowing duration");
    slices_.push_back({open.event, start_ns, duration_ns, open.has_child});
  }

  Events& events_;
  std::vector<PairedSlice> slices_;
  std::vector<Open> stack_;
};

}  // namespace

std::vector<PairedSlice> pair_slices(Events& events, const Reading& reading) { return Pairing(events).pair(reading); }

}  // namespace underlap::formats::pftrace
