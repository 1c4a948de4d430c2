// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/pipeline.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace underlap::formats {
namespace {

constexpr std::size_t kMostBatches = 6;

}  // namespace

KinetoPipeline::KinetoPipeline(HandOver hand_over, bool reads_foreign)
    : hand_over_(std::move(hand_over)), reads_foreign_(reads_foreign), parser_(lanes_, reads_foreign) {}

void KinetoPipeline::start() {
  tried_thread_ = true;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error&) {
    return;  // add() and finish() read all
  }
}

void KinetoPipeline::run(const std::stop_token& stop) {
  KinetoParser parser(lanes_, reads_foreign_);
  for (;;) {
    Entry* entry = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return (entry = take_waiting()) != nullptr; });
      if (stop.stop_requested()) return;
    }
    parse(*entry, parser);
  }
}

KinetoPipeline::Entry* KinetoPipeline::take_waiting() {
  const auto found = std::ranges::find_if(entries_, [](const auto& entry) { return entry->state == State::waiting; });
  if (found == entries_.end()) return nullptr;
  (*found)->state = State::taken;
  return found->get();
}

void KinetoPipeline::parse(Entry& entry, KinetoParser& parser) {
  try {
    parser.parse(entry.job.batch, entry.job.events);
  } catch (...) {
    entry.failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    entry.state = State::done;
  }
  changed_.notify_all();
}

bool KinetoPipeline::hand_over_first() {
  std::unique_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    if (entries_.empty() || entries_.front()->state != State::done) return false;
    entry = std::move(entries_.front());
    entries_.pop_front();
  }
  if (entry->failure) std::rethrow_exception(entry->failure);
  hand_over_(entry->job);
  free_.push_back(std::move(entry));
  return true;
}

void KinetoPipeline::work_or_wait() {
  Entry* entry = nullptr;
  {
    std::unique_lock lock(mutex_);
    entry = take_waiting();
    if (entry == nullptr) changed_.wait(lock, [&] { return entries_.front()->state == State::done; });
  }
  if (entry != nullptr) parse(*entry, parser_);
}

void KinetoPipeline::add(KinetoBatch batch) {
  std::unique_ptr<Entry> entry;
  if (free_.empty()) {
    entry = std::make_unique<Entry>();
  } else {
    entry = std::move(free_.back());
    free_.pop_back();
    entry->state = State::waiting;
  }
  entry->job.batch = std::move(batch);
  std::size_t waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
    waiting = entries_.size();
  }
  changed_.notify_all();
  if (!tried_thread_ && waiting > 1) start();
  while (hand_over_first()) --waiting;
  if (waiting > kMostBatches) work_or_wait();
}

void KinetoPipeline::finish() {
  while (!entries_.empty())
    if (!hand_over_first()) work_or_wait();
}

}  // namespace underlap::formats
