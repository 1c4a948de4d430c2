// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_group.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <fstream>
#include <system_error>

#include "platform/text/output.hpp"

namespace underlap::bench {
namespace {

constexpr int kClockExchanges = 15;

using std::chrono::milliseconds;
using Kind = RankFailure::Kind;

// Interval between checks for stopped ranks. Nothing else wakes this process while ranks work.
constexpr milliseconds kLook{500};
// How long to wait for other failures after the first: a peer may report the cause of a broken connection later.
constexpr milliseconds kCollect{500};
constexpr milliseconds kPatienceToEnd{5'000};
constexpr milliseconds kPatienceToSend{60'000};
// A rank that requests a value reads the answer at once.
constexpr milliseconds kPatienceToAnswer{10'000};

Deadline now() { return std::chrono::steady_clock::now(); }

LineSink prefixed(const LineSink& sink, std::int32_t rank) {
  return [sink, rank](const std::string& line) {
    const std::string text = fmt::format("[rank {}] {}", rank, line);
    if (sink) return sink(text);
    print_error("{}\n", text);
  };
}

// Lines that cannot be written to a file are printed, so that they are not lost.
LineSink logged(const std::filesystem::path& folder, std::int32_t rank) {
  return [path = folder / fmt::format("rank-{}.txt", rank), otherwise = prefixed({}, rank)](const std::string& line) {
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    std::ofstream file(path, std::ios::app);
    if (!(file << line << std::endl)) otherwise(line);
  };
}

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

// A message that already names its rank does not get the name twice.
std::string with_name(const RankProcess& rank, const std::string& what) {
  const std::string name = rank.name();
  if (what.find(name) != std::string::npos) return what;
  const std::string number = fmt::format("rank {}: ", rank.rank());
  return fmt::format("{}: {}", name, what.starts_with(number) ? what.substr(number.size()) : what);
}

}  // namespace

RankProcess::RankProcess(std::int32_t rank, std::unique_ptr<RankLink> link, LineSink sink)
    : rank_(rank), link_(std::move(link)), output_(std::move(sink)) {}

std::string RankProcess::name() const {
  const std::string node = link_->node();
  return fmt::format("rank {}{}{}", rank_, node.empty() ? "" : " on ", node);
}

void RankProcess::order(RankMessage kind, const std::string& payload, std::string task) {
  task_ = std::move(task);
  answer_.reset();
  is_waited_for_ = true;
  link_->channel().send(static_cast<std::uint32_t>(kind), payload, std::chrono::steady_clock::now() + kPatienceToSend);
}

void RankProcess::take_answer(Message answer) {
  answer_ = std::move(answer);
  is_waited_for_ = false;
}

RankGroup::RankGroup(std::int32_t num_ranks, const RankGroupOptions& options)
    : options_(options),
      stopped_since_(static_cast<std::size_t>(num_ranks)),
      store_([this](std::int32_t rank, const SharedValues::Values& values) { answer_ranks(rank, values); }) {
  ChildStarter children;
  RankStarter& starter = options.starter != nullptr ? *options.starter : children;
  std::vector<std::unique_ptr<RankLink>> links =
      starter.start(num_ranks, {options.program, options.arguments, options.environment});
  for (std::int32_t rank = 0; rank < num_ranks; ++rank)
    ranks_.push_back(std::make_unique<RankProcess>(
        rank, std::move(links[static_cast<std::size_t>(rank)]),
        options.log_folder.empty() ? prefixed(options.sink, rank) : logged(options.log_folder, rank)));
}

RankGroup::~RankGroup() {
  if (has_ended_) return;
  for (const auto& rank : ranks_) rank->link().close_channel();
  const Deadline deadline = now() + kPatienceToEnd;
  for (const auto& rank : ranks_) {
    do rank->read_output();
    while (!rank->link().end(milliseconds(10)) && now() < deadline);
    rank->read_output();
    rank->output().forward(true);
  }
  kill_all();
}

std::vector<pid_t> RankGroup::pids() const {
  std::vector<pid_t> pids;
  for (const auto& rank : ranks_) pids.push_back(rank->link().pid());
  return pids;
}

std::vector<std::string> RankGroup::ask(RankMessage order, const std::vector<std::string>& payloads,
                                        const std::string& task, std::optional<milliseconds> limit) {
  Orders orders;
  for (std::size_t i = 0; i < payloads.size(); ++i) orders.emplace_back(static_cast<std::int32_t>(i), payloads[i]);
  return ask_ranks(order, orders, task, limit);
}

std::vector<std::string> RankGroup::ask_ranks(RankMessage order, const Orders& orders, const std::string& task,
                                              std::optional<milliseconds> limit) {
  if (has_ended_) throw MachineError("the ranks have ended because one of them failed");
  // Pairs of ranks connect one after another: the last of a long chain connects long after the first.
  const milliseconds timeout = order == RankMessage::build
                                   ? std::max(options_.peer_timeout, options_.connecting_timeout)
                                   : options_.peer_timeout;
  Waiting waiting{now(), timeout, std::nullopt, std::nullopt};
  if (limit) waiting.limit = now() + *limit;
  for (const auto& [number, payload] : orders) {
    RankProcess& rank = *ranks_[static_cast<std::size_t>(number)];
    try {
      rank.order(order, payload, task);
    } catch (const MachineError& error) {
      add_failure(rank, Kind::machine, death_of(rank, error.what()));
    }
  }
  while (num_waited_for() > 0 && failures_.empty()) watch_once(waiting);
  if (!failures_.empty()) {
    collect_failures(waiting);
    end_all();
  }
  std::vector<std::string> answers;
  for (const auto& [number, payload] : orders)
    answers.push_back(std::move(ranks_[static_cast<std::size_t>(number)]->answer()->payload));
  return answers;
}

ClockReading RankGroup::read_clock(std::int32_t rank) {
  const auto ns = [](Deadline time) { return std::chrono::nanoseconds(time.time_since_epoch()).count(); };
  ClockReading best{.offset_ns = 0, .residual_ns = std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < kClockExchanges; ++i) {
    const std::int64_t asked = ns(now());
    const std::vector<std::string> answer =
        ask_ranks(RankMessage::clock, {{rank, to_message(ClockOrder{})}}, "report its clock", {});
    const std::int64_t heard = ns(now());
    const std::int64_t residual = (heard - asked + 1) / 2;
    if (residual < best.residual_ns) best = {asked + (heard - asked) / 2 - std::stoll(answer.front()), residual};
  }
  return best;
}

void RankGroup::set_clock_offset(std::int32_t rank, std::int64_t offset_ns) {
  ask_ranks(RankMessage::clock, {{rank, to_message(ClockOrder{.offset_ns = offset_ns})}}, "adjust its clock to rank 0",
            {});
}

std::int32_t RankGroup::num_waited_for() const {
  return static_cast<std::int32_t>(
      std::ranges::count_if(ranks_, [](const auto& rank) { return rank->is_waited_for(); }));
}

int RankGroup::milliseconds_to_sleep() const {
  Deadline wake = now() + std::min(kLook, options_.peer_timeout / 4 + milliseconds(1));
  for (const auto& rank : ranks_)
    if (const auto due = rank->output().next_due()) wake = std::min(wake, *due);
  if (const auto due = store_.next_due()) wake = std::min(wake, *due);
  return static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<milliseconds>(wake - now()).count()));
}

// Watches every rank, including idle ones: the end of one rank ends all.
void RankGroup::watch_once(Waiting& waiting) {
  std::vector<pollfd> files;
  for (const auto& rank : ranks_) {
    const bool is_done_with = has_failed(rank->rank());
    files.push_back({is_done_with ? -1 : rank->link().channel().descriptor(), POLLIN, 0});
    files.push_back({is_done_with || rank->output().has_ended() ? -1 : rank->link().watched(), POLLIN, 0});
  }
  ::poll(files.data(), files.size(), milliseconds_to_sleep());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (files[2 * i + 1].revents != 0) ranks_[i]->read_output();
    if (files[2 * i].revents != 0) listen(*ranks_[i], waiting);
    if (failures_.empty()) ranks_[i]->output().forward(false);
  }
  store_.answer_the_late(now());
  if (failures_.empty()) look_for_silence(waiting);
}

void RankGroup::listen(RankProcess& rank, Waiting& waiting) {
  try {
    if (std::optional<Message> message = rank.link().channel().try_receive()) take(rank, std::move(*message), waiting);
  } catch (const ChannelClosed& closed) {
    add_failure(rank, Kind::machine, death_of(rank, closed.what()));
  } catch (const MachineError& error) {
    add_failure(rank, Kind::machine, error.what());
  }
}

void RankGroup::take(RankProcess& rank, Message message, Waiting& waiting) {
  const auto kind = static_cast<RankMessage>(message.kind);
  if (kind == RankMessage::put) {
    MeetingPut put = from_message<MeetingPut>(message.payload);
    return store_.put(put.key, std::move(put.value));
  }
  if (kind == RankMessage::get) {
    MeetingGet get = from_message<MeetingGet>(message.payload);
    return store_.wait(rank.rank(), std::move(get.keys), now() + get.timeout);
  }
  if (!rank.is_waited_for()) return;
  if (kind == RankMessage::failed) {
    const RankFailure failure = from_message<RankFailure>(message.payload);
    return add_failure(rank, failure.kind, failure.what);
  }
  rank.take_answer(std::move(message));
  if (!waiting.first_answer) waiting.first_answer = now();
}

void RankGroup::answer_ranks(std::int32_t rank, const SharedValues::Values& values) {
  RankProcess& asks = *ranks_[static_cast<std::size_t>(rank)];
  try {
    asks.link().channel().send(static_cast<std::uint32_t>(RankMessage::met), to_message(values),
                               now() + kPatienceToAnswer);
  } catch (const MachineError& error) {
    add_failure(asks, Kind::machine, death_of(asks, error.what()));
  }
}

std::string RankGroup::death_of(RankProcess& rank, const std::string& otherwise) {
  const std::optional<std::string> end = rank.link().end(kPatienceToEnd);
  rank.read_output();
  return end ? fmt::format("{} {}", rank.name(), *end) : fmt::format("{}, but did not end", otherwise);
}

Deadline RankGroup::deadline_of(const Waiting& waiting) const {
  Deadline deadline = kNoDeadline;
  if (waiting.first_answer) {
    const auto took = std::chrono::duration_cast<milliseconds>(*waiting.first_answer - waiting.asked);
    deadline = *waiting.first_answer + std::max(waiting.timeout, took) + options_.grace;
  }
  return waiting.limit ? std::min(deadline, *waiting.limit) : deadline;
}

// A rank that waits for a peer gives up by itself and reports why. This finds ranks that cannot.
void RankGroup::look_for_silence(const Waiting& waiting) {
  for (const auto& rank : ranks_) {
    std::optional<Deadline>& since = stopped_since_[static_cast<std::size_t>(rank->rank())];
    if (!rank->is_waited_for() || !rank->link().is_stopped()) {
      if (since) goes_on(rank->rank());
    } else if (!since) {
      since = now();
    } else if (now() - *since > options_.peer_timeout) {
      return blame_the_silent(waiting);
    }
  }
  if (num_waited_for() > 0 && now() > deadline_of(waiting)) blame_the_silent(waiting);
}

void RankGroup::goes_on(std::int32_t rank) {
  std::optional<Deadline>& since = stopped_since_[static_cast<std::size_t>(rank)];
  pauses_[rank] += std::chrono::duration_cast<milliseconds>(now() - *since);
  since.reset();
}

// Blames a stopped rank, or else the first that has not answered.
void RankGroup::blame_the_silent(const Waiting& waiting) {
  RankProcess* silent = nullptr;
  for (const auto& rank : ranks_) {
    if (!rank->is_waited_for()) continue;
    if (rank->link().is_stopped())
      return add_failure(*rank, Kind::machine,
                         fmt::format("{} is stopped (SIGSTOP, or a debugger) and did not answer within {} ms "
                                     "(run.peer_timeout_s)",
                                     rank->name(), options_.peer_timeout.count()));
    if (silent == nullptr) silent = rank.get();
  }
  if (silent != nullptr)
    add_failure(*silent, Kind::machine,
                fmt::format("{} did not answer within {} ms (run.peer_timeout_s) after the others", silent->name(),
                            waiting.timeout.count()));
}

void RankGroup::add_failure(RankProcess& rank, Kind kind, const std::string& what) {
  rank.give_up();
  failures_.push_back({rank.rank(), kind, what});
}

bool RankGroup::has_failed(std::int32_t rank) const {
  return std::ranges::any_of(failures_, [=](const Failure& failure) { return failure.rank == rank; });
}

// The first failure that does not blame a peer; null if all of them do.
const RankGroup::Failure* RankGroup::cause() const {
  const auto found = std::ranges::find_if(failures_, [](const Failure& failure) { return failure.kind != Kind::peer; });
  return found == failures_.end() ? nullptr : &*found;
}

// One rank's failure breaks the connections of all ranks: the failed rank may report last, or never.
void RankGroup::collect_failures(Waiting& waiting) {
  const Deadline deadline = now() + kCollect;
  while (num_waited_for() > 0 && cause() == nullptr && now() < deadline) watch_once(waiting);
  if (cause() == nullptr) blame_the_silent(waiting);
}

void RankGroup::end_all() {
  const Failure failure = cause() != nullptr ? *cause() : failures_.front();
  RankProcess& rank = *ranks_[static_cast<std::size_t>(failure.rank)];
  rank.read_output();
  const std::vector<std::string> last_lines = rank.output().take_last_lines();
  kill_all();
  for (const auto& other : ranks_) {
    if (other.get() == &rank) continue;
    other->read_output();
    other->output().forward(true);
  }
  if (failure.kind == Kind::bad_input) throw std::invalid_argument(failure.what + indented(last_lines));
  throw MachineError(
      fmt::format("{}; its last task was to {}{}", with_name(rank, failure.what), rank.task(), indented(last_lines)));
}

void RankGroup::kill_all() noexcept {
  has_ended_ = true;
  for (const auto& rank : ranks_) rank->link().begin_to_kill();
  for (const auto& rank : ranks_) rank->link().kill();
}

}  // namespace underlap::bench
