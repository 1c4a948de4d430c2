// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/agent.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <thread>

#include "bench/launch/authentication.hpp"
#include "bench/launch/rank_link.hpp"
#include "platform/errors.hpp"
#include "platform/network/message_channel.hpp"
#include "platform/network/tcp.hpp"

namespace underlap::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{500};        // interval of checks whether a rank process is stopped or has ended
constexpr milliseconds kLookForEnd{5};    // for a rank process whose output has ended, since it is about to end
constexpr milliseconds kLookForFile{50};  // between attempts
constexpr milliseconds kPatienceToConnect{2'000};
constexpr milliseconds kPatienceToBeWelcomed{10'000};
constexpr milliseconds kPatienceToEnd{5'000};
constexpr off_t kLongestFile = 1 << 20;
constexpr std::uint64_t kLongestProof = 1 << 10;  // largest message from a process that has not proved its identity

Deadline now() { return std::chrono::steady_clock::now(); }

// A rank obeys the process that this file names, so another user must not be able to provide it. `why` is the reason
// for which a file was ignored; it is unchanged if there is no file.
std::optional<LaunchFile> read_file(const std::filesystem::path& path, std::string& why) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    if (errno != ENOENT) why = errno == ELOOP ? "is a symbolic link" : "cannot be read: " + system_reason(errno);
    return std::nullopt;
  }
  why = !S_ISREG(status.st_mode)                 ? "is not a regular file"
        : status.st_uid != ::geteuid()           ? fmt::format("belongs to another user ({})", status.st_uid)
        : (status.st_mode & (S_IWGRP | S_IWOTH)) ? "can be written by other users"
        : status.st_size > kLongestFile          ? "is too long"
                                                 : "";
  if (!why.empty()) return std::nullopt;
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  std::optional<LaunchFile> launch_file = read_launch_file(text);
  if (!launch_file) why = "is not a launch file of this version of Underlap";
  return launch_file;
}

// Throws MachineError unless the other side proves that it is the run, and accepts this side's proof.
void introduce(MessageChannel& run, const std::string& token, const Hello& hello) {
  const Deadline deadline = now() + kPatienceToBeWelcomed;
  const std::string peer = run.peer();
  run.limit(kLongestProof);
  const Message challenge = run.receive(deadline);
  if (static_cast<AgentMessage>(challenge.kind) != AgentMessage::challenge || challenge.payload.size() != kProofBytes)
    throw MachineError(fmt::format("{} sent no challenge: it may be another version of Underlap", peer));
  const Handshake handshake{.run_nonce = challenge.payload, .peer_nonce = random_nonce()};
  run.send(static_cast<std::uint32_t>(AgentMessage::hello), peer_answer(token, handshake, to_message(hello)), deadline);
  const Message welcome = run.receive(deadline);
  if (static_cast<AgentMessage>(welcome.kind) != AgentMessage::welcome ||
      !is_proof_of_run(token, handshake, welcome.payload))
    throw MachineError(fmt::format("{} did not prove that it is the run", peer));
  run.trust(peer);
}

/// The connection to the run.
struct Found {
  MessageChannel channel;
  std::string host;
  LaunchFile file;
};

class Search {
 public:
  Search(const AgentOptions& options, const RankPlace& own)
      : options_(options), own_(own), path_(options.folder / launch_file_name(options.launch.job)) {}

  Found find() {
    const Deadline deadline = now() + options_.timeout;
    while (true) {
      if (const std::optional<LaunchFile> file = read_file(path_, why_not_read_))
        if (std::optional<Found> found = try_addresses(*file)) return std::move(*found);
      if (now() > deadline) throw MachineError(failure());
      std::this_thread::sleep_for(kLookForFile);
    }
  }

 private:
  std::vector<std::string> hosts_of(const LaunchFile& file) const {
    std::vector<std::string> hosts;
    if (file.node == own_.node) hosts.emplace_back("127.0.0.1");
    hosts.insert(hosts.end(), file.addresses.begin(), file.addresses.end());
    if (!options_.launch.address.empty()) hosts.push_back(options_.launch.address);
    return hosts;
  }

  std::optional<Found> try_addresses(const LaunchFile& file) {
    for (const std::string& host : hosts_of(file)) {
      FileDescriptor socket = connect_tcp(host, file.port, kPatienceToConnect, why_);
      where_ = fmt::format("{} (on {}) at port {}", host, file.node, file.port);
      if (!socket) continue;
      RankPlace place = own_;
      place.address = own_address(socket);
      MessageChannel channel(std::move(socket), "rank 0 on " + file.node);
      if (is_welcomed(channel, file, place)) return Found{std::move(channel), host, file};
    }
    return std::nullopt;
  }

  bool is_welcomed(MessageChannel& channel, const LaunchFile& file, const RankPlace& place) {
    try {
      introduce(channel, file.token,
                {.rank = options_.launch.rank,
                 .size = options_.launch.size,
                 .local_rank = options_.launch.local_rank,
                 .place = place,
                 .facts = options_.facts,
                 .complaint = options_.complaint});
      return true;
    } catch (const MachineError& error) {
      why_ = error.what();
      return false;
    }
  }

  std::string failure() const {
    const Launch& launch = options_.launch;
    const std::string who =
        fmt::format("rank {} of {} on {} ({})", launch.rank, launch.size, own_.node, launch.launcher);
    const double seconds = std::chrono::duration<double>(options_.timeout).count();
    if (where_.empty() && !why_not_read_.empty())
      return fmt::format("{} ignored {}: it {}. A launch file must belong to this user and be writable by nobody else",
                         who, path_.string(), why_not_read_);
    if (where_.empty())
      return fmt::format(
          "{} did not find rank 0 within {} s (--launch-timeout-s): {} does not exist. All launched processes must "
          "share one folder (-o DIR) and one job",
          who, seconds, path_.string());
    return fmt::format("{} did not reach rank 0 within {} s (--launch-timeout-s); last attempt, {}: {}", who, seconds,
                       where_, why_);
  }

  const AgentOptions& options_;
  const RankPlace& own_;
  std::filesystem::path path_;
  std::string where_, why_, why_not_read_;
};

class AgentProcess {
 public:
  AgentProcess(const AgentOptions& options, Found found)
      : rank_(options.launch.rank),
        program_(options.program),
        run_(std::move(found.channel)),
        host_(found.host),
        file_(found.file) {}

  int serve() {
    while (true) {
      wait();
      for (auto child = children_.begin(); child != children_.end();)
        child = has_ended(child->first, child->second) ? children_.erase(child) : std::next(child);
      while (const std::optional<Message> message = run_.try_receive()) {
        const auto kind = static_cast<AgentMessage>(message->kind);
        if (kind == AgentMessage::start) start(from_message<ChildOrder>(message->payload));
        if (kind == AgentMessage::kill) kill(from_message<ChildNews>(message->payload).child);
        if (kind == AgentMessage::end) return end(static_cast<int>(from_message<ChildNews>(message->payload).number));
      }
    }
  }

 private:
  struct Child {
    std::unique_ptr<ChildProcess> process;
    bool is_stopped = false;
    bool prints = true;  // its output has not ended
  };

  void wait() const {
    std::vector<pollfd> files{{run_.descriptor(), POLLIN, 0}};
    milliseconds timeout = kLook;
    for (const auto& [number, child] : children_) {
      files.push_back({child.prints ? child.process->output() : -1, POLLIN, 0});
      if (!child.prints) timeout = kLookForEnd;
    }
    ::poll(files.data(), files.size(), static_cast<int>(timeout.count()));
  }

  void send_news(AgentMessage kind, const ChildNews& news) {
    run_.send(static_cast<std::uint32_t>(kind), to_message(news));
  }

  // Its connection to the run becomes its channel: orders and traces do not pass through the agent.
  void start(const ChildOrder& order) {
    try {
      std::string why;
      FileDescriptor socket = connect_tcp(host_, file_.port, kPatienceToConnect, why);
      if (!socket) throw MachineError(fmt::format("its connection to {} could not be opened: {}", host_, why));
      MessageChannel channel(std::move(socket), "the run");
      introduce(channel, file_.token, {.rank = rank_, .child = order.child});
      FileDescriptor its = channel.release();
      children_[order.child].process =
          std::make_unique<ChildProcess>(ChildOptions{program_, order.arguments, order.environment, &its});
    } catch (const MachineError& error) {
      children_.erase(order.child);
      send_news(AgentMessage::ended,
                {.child = order.child, .text = fmt::format("could not be started: {}", error.what())});
    }
  }

  void kill(std::int32_t number) {
    const auto child = children_.find(number);
    if (child != children_.end()) child->second.process->kill();
  }

  bool has_ended(std::int32_t number, Child& child) {
    const std::optional<ProcessEnd> end = child.process->end();
    relay_output(number, child);
    if (end) {
      send_news(AgentMessage::ended, {.child = number, .text = end_text(*end)});
      return true;
    }
    if (const bool is_stopped = child.process->is_stopped(); is_stopped != child.is_stopped) {
      child.is_stopped = is_stopped;
      send_news(AgentMessage::stopped, {.child = number, .number = is_stopped ? 1 : 0});
    }
    return false;
  }

  void relay_output(std::int32_t number, Child& child) {
    std::array<char, 4096> bytes;
    while (child.prints) {
      const ssize_t got = ::read(child.process->output(), bytes.data(), bytes.size());
      if (got > 0)
        send_news(AgentMessage::printed, {.child = number, .text = {bytes.data(), static_cast<std::size_t>(got)}});
      if (got == 0) child.prints = false;
      if (got < 0 && errno != EINTR) return;
    }
  }

  // A launcher ends all processes if one ends with an error. So the run reports the error before any agent ends.
  int end(int exit_code) {
    children_.clear();
    try {
      run_.receive(now() + kPatienceToEnd);
    } catch (const MachineError&) {
      // The run has ended, as expected.
    }
    return exit_code;
  }

  std::int32_t rank_;
  std::filesystem::path program_;
  MessageChannel run_;
  std::string host_;
  LaunchFile file_;
  std::map<std::int32_t, Child> children_;
};

}  // namespace

int serve_agent(const AgentOptions& options) {
  const RankPlace own = own_place();
  AgentProcess agent(options, Search(options, own).find());
  try {
    return agent.serve();
  } catch (const ChannelClosed& closed) {
    throw MachineError(fmt::format("rank {} of {} on {}: lost the connection to the run: {}", options.launch.rank,
                                   options.launch.size, own.node, closed.what()));
  }
}

}  // namespace underlap::bench
