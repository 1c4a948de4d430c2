// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "profiler/formats/kineto/parser.hpp"

namespace underlap::formats {

/// Reads batches on the caller's thread and one more, and hands over what was read in the batches' order.
///
/// The second thread starts with the second batch. Where it cannot be started the caller's reads all.
class KinetoPipeline {
 public:
  struct Job {
    KinetoBatch batch;
    KinetoEvents events;
  };
  /// Called on the caller's thread.
  using HandOver = std::function<void(Job&)>;

  /// `reads_foreign`: as KinetoParser.
  explicit KinetoPipeline(HandOver, bool reads_foreign = false);
  KinetoPipeline(const KinetoPipeline&) = delete;
  KinetoPipeline& operator=(const KinetoPipeline&) = delete;

  /// Takes a batch, and hands over what is ready.
  void add(KinetoBatch);
  /// Hands over the rest. Rethrows what a thread threw, as add() does.
  void finish();

  KinetoLanes& lanes() { return lanes_; }

 private:
  enum class State { waiting, taken, done };
  struct Entry {
    Job job;
    State state = State::waiting;
    std::exception_ptr failure;
  };

  void start();
  void run(const std::stop_token&);
  bool hand_over_first();
  Entry* take_waiting();
  void work_or_wait();
  void parse(Entry&, KinetoParser&);

  KinetoLanes lanes_;
  HandOver hand_over_;
  bool reads_foreign_;
  KinetoParser parser_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Entry>> free_;
  bool tried_thread_ = false;
  std::jthread thread_;  ///< is stopped before what it uses ends
};

}  // namespace underlap::formats
