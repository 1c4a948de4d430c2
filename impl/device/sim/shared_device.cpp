// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/shared_device.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace underlap::sim {

SharedDevice::Id SharedDevice::add(Work work) {
  has_news_ = true;
  Id id = static_cast<Id>(work_.size());
  if (free_ids_.empty()) {
    work_.push_back(work);
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
    work_[id] = work;
  }
  const auto is_behind = [&](Id other) { return work.is_high && !work_[other].is_high; };
  order_.insert(std::find_if(order_.begin(), order_.end(), is_behind), id);
  return id;
}

SharedDevice::Id SharedDevice::add_kernel(const KernelTime& time, Priority priority) {
  Work work{.time = time, .is_high = priority == Priority::high};
  work.tiles = time.tiles;
  work.fixed_ns = time.fixed_ns;
  work.left_ns = work.plan_ns = time.alone_ns;
  return add(work);
}

SharedDevice::Id SharedDevice::add_transfers(int sms, Priority priority) {
  Work work{.time = {}, .is_transfers = true, .is_high = priority == Priority::high};
  work.time.sms = sms;
  return add(work);
}

void SharedDevice::remove(Id id) {
  has_news_ = true;
  order_.erase(std::find(order_.begin(), order_.end(), id));
  free_ids_.push_back(id);
}

void SharedDevice::begin_flow(std::uint64_t flow, const FlowDemand& demand) {
  has_news_ = true;
  flows_.push_back({flow, demand});
  flow_limits_.push_back({flow, 1});
}

void SharedDevice::end_flow(std::uint64_t flow) {
  has_news_ = true;
  std::erase_if(flows_, [flow](const Flow& f) { return f.id == flow; });
  std::erase_if(flow_limits_, [flow](const FlowLimit& limit) { return limit.flow == flow; });
}

void SharedDevice::advance(std::int64_t now, Changes& changes) {
  changes.started.clear();
  changes.finished.clear();
  changes.gave_up.reset();
  settle(now);
  finish(changes);
  share_sms(changes);
  share_copy_engines(changes);
  share_bandwidth();
  find_next_event();
  has_news_ = false;
}

void SharedDevice::settle(std::int64_t now) {
  assert(now >= now_);
  const auto passed = static_cast<double>(now - now_);
  now_ = now;
  if (passed == 0) return;
  for (const Id id : order_) work_[id].left_ns -= passed * work_[id].speed;
}

void SharedDevice::finish(Changes& changes) {
  for (const Id id : order_) {
    Work& w = work_[id];
    if (w.is_transfers || !w.has_started || w.speed <= 0 || whole_ns(w.left_ns / w.speed) > 0) continue;
    changes.finished.push_back(id);
  }
  for (const Id id : changes.finished) remove(id);
}

// Waves ---------------------------------------------------------------------------------------------------------------

double SharedDevice::tile_ns(const Work& w) const {
  const std::int64_t at_once = std::min<std::int64_t>(w.time.tiles, w.time.sms);
  const std::int64_t waves = (w.time.tiles + at_once - 1) / at_once;
  return std::max(1e-3, w.time.alone_ns - w.time.fixed_ns) / static_cast<double>(waves);  // never nothing: it divides
}

// Time that the plan's waves have had, at full speed.
double SharedDevice::in_waves_ns(const Work& w) { return w.plan_ns - w.left_ns - w.fixed_ns; }

// Whole waves of the plan that are over, to the nearest nanosecond.
std::int64_t SharedDevice::waves_done(const Work& w) const {
  const double tolerance = 0.5 * w.speed;
  return static_cast<std::int64_t>(std::max(0.0, in_waves_ns(w) + tolerance) / tile_ns(w));
}

bool SharedDevice::is_between_waves(const Work& w) const {
  if (w.held == 0) return true;
  const std::int64_t done = waves_done(w);
  const double beyond = in_waves_ns(w) - static_cast<double>(done) * tile_ns(w);
  return done > 0 && whole_ns(std::max(0.0, beyond) / w.speed) == 0;
}

// Removes finished waves from the plan. Between two waves all are placed again; a partial last wave keeps only the
// multiprocessors it needs. Returns whether it released any.
bool SharedDevice::pass_waves(Work& w) {
  const std::int64_t left = w.tiles - waves_done(w) * w.held;
  if (left <= 0 || left == w.tiles) return false;
  const int before = w.held;
  if (is_between_waves(w)) {
    w.tiles = left;
    w.held = 0;
  } else if (left < w.held) {
    w.tiles = left;
    w.held = static_cast<int>(left);
    w.plan_ns = tile_ns(w);
    w.fixed_ns = 0;
  }
  return w.held < before;
}

void SharedDevice::plan_waves(Work& w, int sms) {
  const bool is_new = !w.has_started && sms == std::min<std::int64_t>(w.time.tiles, w.time.sms);
  w.held = sms;
  if (is_new || sms == 0) return;
  const std::int64_t waves = (w.tiles + sms - 1) / sms;
  if (w.has_started) w.fixed_ns = 0;
  w.left_ns = w.plan_ns = w.fixed_ns + static_cast<double>(waves) * tile_ns(w);
}

// Multiprocessors -----------------------------------------------------------------------------------------------------

void SharedDevice::start(Id id, Changes& changes) {
  if (std::exchange(work_[id].has_started, true)) return;
  changes.started.push_back(id);
}

void SharedDevice::share_sms(Changes& changes) {
  free_sms_ = limits_.sms;
  for (const Id id : order_) {
    Work& w = work_[id];
    if (w.is_transfers || is_copy(w) || !w.has_started) {
      if (w.has_started) free_sms_ -= w.held;
    } else if (w.time.kind == KernelTime::Kind::elastic) {
      w.held = 0;
    } else if (is_waves(w)) {
      if (w.held > 0 && pass_waves(w)) changes.gave_up = id;
      free_sms_ -= w.held;
    } else {
      free_sms_ -= w.held;
    }
  }
  bool is_blocked = false;  // an earlier kernel has blocks to place yet
  for (const Id id : order_) {
    Work& w = work_[id];
    if (is_copy(w)) continue;
    const bool needs_none = w.is_transfers && w.time.sms == 0;
    if (!needs_none && is_blocked) continue;
    const int before = w.held;
    if (!grant(w)) is_blocked = true;
    if (needs_none || w.held > 0) start(id, changes);
    free_sms_ -= w.held - before;
  }
}

// Gives `w` what is free, and returns whether all its blocks are placed now.
bool SharedDevice::grant(Work& w) {
  const bool is_whole = w.is_transfers || w.time.kind == KernelTime::Kind::persistent;
  if (is_whole) {
    if (!w.has_started && w.time.sms <= free_sms_) w.held = w.time.sms;
    return w.has_started || w.held == w.time.sms;
  }
  if (w.time.kind == KernelTime::Kind::elastic) {
    w.held = free_sms_;
    return false;
  }
  const std::int64_t wanted = std::min<std::int64_t>(w.tiles - (w.held > 0 ? waves_done(w) * w.held : 0), w.time.sms);
  if (w.held == 0) plan_waves(w, static_cast<int>(std::min<std::int64_t>(wanted, free_sms_)));
  return w.held >= wanted;
}

void SharedDevice::share_copy_engines(Changes& changes) {
  int busy = 0;
  for (const Id id : order_) busy += is_copy(work_[id]) && work_[id].has_started ? 1 : 0;
  for (const Id id : order_) {
    if (!is_copy(work_[id]) || work_[id].has_started) continue;
    if (busy++ >= limits_.copy_engines) return;
    start(id, changes);
  }
}

// Bandwidth -----------------------------------------------------------------------------------------------------------

// Limits each speed above a fair share of `capacity`.
void SharedDevice::share_max_min(std::vector<Share>& shares, double capacity) {
  double total = 0;
  for (const Share& share : shares) total += share.demand;
  if (total <= capacity) return;
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.demand < b.demand; });
  double left = capacity;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double fair = left / static_cast<double>(shares.size() - i);
    const double given = std::min(shares[i].demand, fair);
    *shares[i].speed = std::min(*shares[i].speed, given / shares[i].demand);
    left -= given;
  }
}

double SharedDevice::sm_speed(const Work& w) const {
  if (!w.has_started) return 0;
  if (is_waves(w)) return w.held > 0 ? 1 : 0;
  if (w.time.kind == KernelTime::Kind::elastic)
    return std::min(1.0, static_cast<double>(w.held) / static_cast<double>(std::max(1, w.time.sms)));
  return 1;
}

// Bytes of memory per nanosecond, at the speed that its multiprocessors allow.
double SharedDevice::demand_of(const Work& w) const {
  if (w.time.alone_ns <= 0) return 0;
  const double alone = w.time.hbm_bytes / w.time.alone_ns;
  if (!is_waves(w)) return alone * w.speed;
  const std::int64_t at_once = std::min<std::int64_t>(w.time.tiles, w.time.sms);
  return alone * w.speed * static_cast<double>(w.held) / static_cast<double>(at_once);
}

void SharedDevice::share_bandwidth() {
  for (auto& shares : wanted_) shares.clear();
  const auto want = [&](std::size_t resource, double demand, double& speed) {
    if (demand > 0) wanted_[resource].push_back({demand, &speed});
  };
  for (const Id id : order_) {
    Work& w = work_[id];
    if (w.is_transfers) continue;
    w.speed = sm_speed(w);
    want(0, demand_of(w), w.speed);
  }
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const FlowDemand& d = flows_[i].demand;
    double& speed = flow_limits_[i].speed = 1;
    want(0, d.hbm, speed);
    want(1, d.nvlink_out, speed);
    want(2, d.nvlink_in, speed);
    want(3, d.network_out, speed);
    want(4, d.network_in, speed);
  }
  const std::array<double, kResources> capacity{limits_.hbm_bytes_per_ns, limits_.nvlink_bytes_per_ns,
                                                limits_.nvlink_bytes_per_ns, limits_.network_bytes_per_ns,
                                                limits_.network_bytes_per_ns};
  for (std::size_t r = 0; r < kResources; ++r)
    if (wanted_[r].size() > 1) share_max_min(wanted_[r], capacity[r]);
}

// What comes next -----------------------------------------------------------------------------------------------------

// Time until `w` ends, releases multiprocessors that other work waits for, or may take more.
double SharedDevice::ns_to_event(const Work& w, bool younger_wait, bool older_wait) const {
  const double to_end = w.left_ns / w.speed;
  if (!is_waves(w)) return to_end;
  const std::int64_t done = waves_done(w);
  const auto to_wave = [&](std::int64_t wave) {
    // More than half a nanosecond, or waves_done() would count it; but for a rounding, which must not become 0 for
    // ever.
    return std::max(1.0, (static_cast<double>(wave) * tile_ns(w) - in_waves_ns(w)) / w.speed);
  };
  const bool may_grow = free_sms_ > 0 && w.held < std::min<std::int64_t>(w.tiles - done * w.held, w.time.sms);
  if (older_wait || may_grow) return std::min(to_end, to_wave(done + 1));
  const std::int64_t whole_waves = w.tiles / w.held;
  if (younger_wait && done < whole_waves) return std::min(to_end, to_wave(whole_waves));
  return to_end;
}

void SharedDevice::find_next_event() {
  const auto waits = [this](Id id) {
    const Work& w = work_[id];
    return !is_copy(w) && (!w.has_started || (!w.is_transfers && w.held == 0));
  };
  std::size_t last_waiting = 0;  // one past it
  for (std::size_t i = 0; i < order_.size(); ++i)
    if (waits(order_[i])) last_waiting = i + 1;
  double soonest = -1;
  bool older_wait = false;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Work& w = work_[order_[i]];
    older_wait = older_wait || waits(order_[i]);
    if (w.is_transfers || !w.has_started || w.speed <= 0) continue;
    const double ns = ns_to_event(w, last_waiting > i + 1, older_wait);
    if (soonest < 0 || ns < soonest) soonest = ns;
  }
  next_event_ns_ = soonest < 0 ? kNever : now_ + whole_ns(soonest);
}

}  // namespace underlap::sim
