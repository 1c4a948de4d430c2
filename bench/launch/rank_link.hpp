// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/launch/rank_output.hpp"
#include "platform/child_process.hpp"
#include "platform/network/message_channel.hpp"

namespace underlap::bench {

/// The run's connection to one rank process on any machine: used to reach, watch and end it.
class RankLink {
 public:
  explicit RankLink(MessageChannel channel) : channel_(std::move(channel)) {}
  virtual ~RankLink() = default;
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  /// For orders and answers.
  MessageChannel& channel() { return channel_; }
  /// A healthy rank then ends by itself.
  void close_channel() { channel_ = MessageChannel(FileDescriptor(), channel_.peer()); }

  /// A descriptor to poll: readable if read() has output to take. -1: no more output.
  virtual int watched() const = 0;
  /// Reads what the rank has printed.
  virtual void read(RankOutput& output) = 0;

  /// Whether it is stopped (SIGSTOP, a debugger) but has not ended.
  virtual bool is_stopped() = 0;
  /// How it ended: "was killed by signal 9 (Killed)". Waits at most `timeout`; nullopt: it is still running.
  virtual std::optional<std::string> end(std::chrono::milliseconds timeout) = 0;
  /// Starts to kill it, without waiting for its end.
  virtual void begin_to_kill() noexcept = 0;
  /// Kills it and waits for its end. May be called repeatedly, also after its end.
  virtual void kill() noexcept = 0;

  /// Its process id on its own machine.
  virtual pid_t pid() const = 0;
  /// The machine that it runs on; empty if all ranks run on this one.
  virtual std::string node() const { return ""; }

 private:
  MessageChannel channel_;
};

/// Starts the ranks of a run as processes.
class RankStarter {
 public:
  virtual ~RankStarter() = default;
  /// Starts ranks 0 to `num_ranks` - 1 of a set, each as `child` with "--number N" appended to its arguments. Throws
  /// MachineError if a rank cannot be started; no rank is left running then.
  virtual std::vector<std::unique_ptr<RankLink>> start(std::int32_t num_ranks, const ChildOptions& child) = 0;
};

/// A rank that is a child of this process.
class ChildLink final : public RankLink {
 public:
  ChildLink(std::int32_t rank, const ChildOptions& child);

  int watched() const override { return child_->output(); }
  void read(RankOutput& output) override { output.read_from(child_->output()); }
  bool is_stopped() override { return child_->is_stopped(); }
  std::optional<std::string> end(std::chrono::milliseconds timeout) override;
  void begin_to_kill() noexcept override { child_->kill(); }
  void kill() noexcept override { child_->kill(); }
  pid_t pid() const override { return child_->pid(); }

 private:
  ChildLink(std::int32_t rank, std::unique_ptr<ChildProcess> child);
  std::unique_ptr<ChildProcess> child_;
};

/// `child` with the number of its rank, which is visible in lists of processes.
ChildOptions numbered(ChildOptions child, std::int32_t rank);

/// Starts every rank as a child of this process.
class ChildStarter final : public RankStarter {
 public:
  std::vector<std::unique_ptr<RankLink>> start(std::int32_t num_ranks, const ChildOptions& child) override;
};

/// How a rank's process ended, with a note if the kernel may have killed it.
std::string end_text(const ProcessEnd& end);

}  // namespace underlap::bench
