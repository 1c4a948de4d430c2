// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_service.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <stdexcept>

#include "bench/ranks/rank_messages.hpp"
#include "bench/ranks/session.hpp"
#include "bench/ranks/shared_values.hpp"
#include "impl/device/rank_store.hpp"
#include "platform/exit_code.hpp"
#include "profiler/analysis/arrivals.hpp"

namespace underlap::bench {
namespace {

// A rank's side of its channel to the run: it answers orders, and lets ranks find each other. Ranks may meet only
// during an order that allows it. At other times nothing is sent, so that measurements are not disturbed.
class LinkRankStore final : public RankStore {
 public:
  explicit LinkRankStore(MessageChannel& run) : run_(run) {}

  // Sends a message to the run. Thread-safe. Throws as MessageChannel::send() does.
  void send(RankMessage kind, const std::string& payload = {}) {
    const std::lock_guard lock(sending_);
    run_.send(static_cast<std::uint32_t>(kind), payload);
  }

  // Sets whether ranks may meet from now on.
  void open(bool is_open) { is_open_ = is_open; }

  void put(const std::string& key, std::string_view value) override {
    send(RankMessage::put, to_message(MeetingPut{key, std::string(value)}));
  }

  // The run answers in any case, and ends its ranks where another failed: there is no deadline here.
  std::vector<std::optional<std::string>> get(const std::vector<std::string>& keys,
                                              std::chrono::milliseconds timeout) override {
    send(RankMessage::get, to_message(MeetingGet{keys, timeout}));
    const Message answer = run_.receive();
    if (static_cast<RankMessage>(answer.kind) != RankMessage::met)
      throw std::logic_error(fmt::format("a rank that asked for its peers received message {}", answer.kind));
    return from_message<SharedValues::Values>(answer.payload);
  }

  void fail(std::string_view why) noexcept override {
    if (!is_open_) return;
    try {
      send(RankMessage::failed, to_message(RankFailure{RankFailure::Kind::machine, std::string(why)}));
    } catch (const MachineError&) {
      // The run has ended, for a reason that it knows.
    }
  }

 private:
  MessageChannel& run_;
  std::mutex sending_;
  std::atomic<bool> is_open_{false};
};

class Rank {
 public:
  Rank(LinkRankStore& run, const RankFactory& make_runner) : run_(run), make_runner_(make_runner) {}

  void obey(const Message& message) {
    const auto kind = static_cast<RankMessage>(message.kind);
    if (kind == RankMessage::start) return start(from_message<StartOrder>(message.payload));
    if (runner_ == nullptr) throw std::logic_error("a rank received a task before its start message");
    if (kind == RankMessage::clock) return send_clock(from_message<ClockOrder>(message.payload));
    if (kind == RankMessage::arrivals) return take_arrivals(from_message<LastArrivals>(message.payload));
    const CellOrder order = from_message<CellOrder>(message.payload);
    switch (kind) {
      case RankMessage::build: return build(order.cell), run_.send(RankMessage::done);
      case RankMessage::run: return run(order);
      case RankMessage::take: return report_of(runner_->take(order.cell));
      case RankMessage::trace: return run_.send(RankMessage::result, encode(std::exchange(trace_, {})));
      case RankMessage::reserve: return runner_->reserve(order.cell, order.steps), run_.send(RankMessage::done);
      default: throw std::logic_error(fmt::format("a rank received an unknown message, {}", message.kind));
    }
  }

  void give_up() noexcept {
    if (runner_ != nullptr) runner_->give_up();
  }

 private:
  // The same program reads the same text, which gives the same plans; if not, nothing may run.
  void start(const StartOrder& order) {
    matrix_ = plan::parse(order.source.yaml, order.source.where, order.source.overrides);
    if (matrix_.has_errors() || plans_hash(matrix_.cells) != order.plans_hash)
      throw MachineError(
          fmt::format("rank {} gets different plans from {} than the run: a file that the configuration names, or the "
                      "program, has changed",
                      order.rank, order.source.where));
    // A scheduler sends it to every process at the time limit. The run receives it too, and decides when ranks end.
    if (order.environment.is_launched) ::signal(SIGTERM, SIG_IGN);
    runner_ = make_runner_({.rank = order.rank,
                            .world_size = order.world_size,
                            .cells = matrix_.cells,
                            .own_cells = order.cells,
                            .first_step = order.first_step,
                            .environment = order.environment,
                            .store = &run_});
    run_.send(RankMessage::done);
  }

  void send_clock(const ClockOrder& order) {
    const std::int64_t now = clock_of(0).device_ns;
    if (order.offset_ns) runner_->set_clock_offset(*order.offset_ns);
    run_.send(RankMessage::result, std::to_string(now));
  }

  void build(std::size_t cell) {
    run_.open(true);
    runner_->build(cell);
    run_.open(false);
  }

  // Frees the previous trace, if it was not requested, before the run needs memory.
  void run(const CellOrder& order) {
    trace_ = {};
    last_run_ = order;
    runner_->run(order.cell, order.block, order.steps);
    run_.send(RankMessage::done);
  }

  void report_of(RankRun run) {
    trace_ = std::exchange(run.trace, {});
    RankReport report{.run = std::move(run), .figures = {}};
    if (last_run_.block >= 0 && analysis::lacks_arrivals(trace_))
      report.run.trace = analysis::open_part(trace_);
    else
      report.figures = figures();
    run_.send(RankMessage::result, encode(report));
  }

  void take_arrivals(const std::vector<std::int64_t>& last_arrivals_ns) {
    analysis::set_arrivals(trace_, last_arrivals_ns);
    run_.send(RankMessage::result, report::encode(figures()));
  }

  report::BlockFigures figures() const { return figures_of(trace_, matrix_.cells[last_run_.cell], last_run_.block); }

  LinkRankStore& run_;
  const RankFactory& make_runner_;
  plan::Matrix matrix_;
  CellOrder last_run_;
  Trace trace_;                         // of the last run, until it is requested
  std::unique_ptr<RankRunner> runner_;  // last: it uses the cells
};

// nullopt if the run is over, or its process has ended: there is no one to report to.
std::optional<Message> next_order(MessageChannel& channel) {
  try {
    return channel.receive();
  } catch (const ChannelClosed&) {
    return std::nullopt;
  }
}

void send_failure(LinkRankStore& run, const std::exception& error) {
  try {
    run.send(RankMessage::failed, to_message(failure_of(error)));
  } catch (const ChannelClosed&) {
    // The run has ended, for a reason that it knows.
  }
}

}  // namespace

int serve_rank(MessageChannel channel, const RankFactory& make_runner) {
  LinkRankStore run(channel);
  Rank rank(run, make_runner);
  // Neither way out unwinds the rank: its parts would treat that as a failure.
  while (const std::optional<Message> order = next_order(channel)) {
    try {
      rank.obey(*order);
    } catch (const ChannelClosed&) {
      rank.give_up();
      return kOk;
    } catch (const std::exception& error) {
      send_failure(run, error);
      rank.give_up();
      return kRunFailed;
    }
  }
  return kOk;
}

}  // namespace underlap::bench
