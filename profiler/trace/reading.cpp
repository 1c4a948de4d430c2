// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/reading.hpp"

#include <algorithm>

namespace underlap {

void Reading::say(const std::string& what) {
  if (watch_ != nullptr) watch_->say(what);
}

void Reading::begin_file(double share) {
  before_ = reported_;
  share_ = share;
  begin_stage(0, 1);
}

void Reading::begin_stage(double from, double until) {
  stage_from_ = from;
  stage_until_ = until;
}

void Reading::at(double fraction) {
  const double of_stage = std::clamp(fraction, 0.0, 1.0);
  const double of_file = stage_from_ + (stage_until_ - stage_from_) * of_stage;
  report(before_ + share_ * of_file);
  check();
}

void Reading::at(std::uint64_t done, std::uint64_t all) {
  at(all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all));
}

void Reading::end() { report(1); }

void Reading::report(double fraction) {
  if (watch_ == nullptr || fraction <= reported_) return;
  reported_ = std::min(fraction, 1.0);
  watch_->on_progress(reported_);
}

void Reading::check() const {
  if (watch_ != nullptr && watch_->is_cancelled()) throw Cancelled();
}

void Reading::show(const Trace& so_far) {
  if (watch_ == nullptr || holds_parts_) return;
  const auto pause = watch_->pause_between_parts();
  if (!pause) return;
  if (last_part_ && std::chrono::steady_clock::now() - *last_part_ < *pause) return;
  show_now(so_far);
}

void Reading::show_now(const Trace& so_far) {
  if (watch_ == nullptr || !watch_->pause_between_parts()) return;
  watch_->on_part(so_far);
  last_part_ = std::chrono::steady_clock::now();
}

}  // namespace underlap
