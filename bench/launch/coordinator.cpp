// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/coordinator.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <system_error>

#include "platform/atomic_file.hpp"
#include "platform/memory_room.hpp"
#include "platform/text/list.hpp"

namespace underlap::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookAtAgents{200};
// Largest message from a process that is not identified yet.
constexpr std::uint64_t kLongestHello = std::uint64_t{1} << 20;
constexpr milliseconds kPatienceToWelcome{1'000};
constexpr milliseconds kPatienceToHear{10'000};  // a silent connection holds a file descriptor
// Covers loading the program from a slow disk, by all ranks of a machine at once.
constexpr milliseconds kPatienceToStart{60'000};
// Launched processes start at about the same time.
constexpr milliseconds kEndTimeout{5'000};
constexpr std::size_t kNamed = 8;
constexpr std::string_view kLockSuffix = ".lock";
// The connections of the agent and the rank, for several sets of ranks at a time.
constexpr std::int64_t kFilesOfARank = 8;
constexpr std::int64_t kSpareFiles = 64;

std::string random_token() {
  std::array<std::uint64_t, 2> bits{};
  if (::getrandom(bits.data(), sizeof bits, 0) != sizeof bits)
    throw MachineError("cannot get random numbers from the system");
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

// Removes files of runs that were killed while they gathered their processes.
void remove_left_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("launch-") || !name.ends_with(kLockSuffix)) continue;
    try {
      const FileLock lock(entry.path());
      const std::string its_file = name.substr(0, name.size() - kLockSuffix.size());
      if (lock.why_not_locked().empty()) std::filesystem::remove(folder / its_file, ignored);
    } catch (const FileIsHeld&) {
      // The run is still gathering its processes.
    }
  }
}

std::string lines(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "\n")); }

}  // namespace

Coordinator::Coordinator(const Launch& launch, std::filesystem::path folder, milliseconds timeout)
    : launch_(launch),
      folder_(std::move(folder)),
      timeout_(timeout),
      listener_(launch.is_on_one_node ? TcpReach::this_machine : TcpReach::network),
      token_(random_token()) {
  made_folder_ = make_folder(folder_);
  remove_left_files(folder_);
  require_open_files(kFilesOfARank * launch_.size + kSpareFiles,
                     fmt::format("the connections of {} launched processes", launch_.size));
  try {
    lock_.emplace(folder_ / (launch_file_name(launch_.job) + std::string(kLockSuffix)));
  } catch (const FileIsHeld& held) {
    throw std::invalid_argument(
        fmt::format("{} is already gathering processes of this job in {} ({}): two runs cannot share a job and a "
                    "folder; choose another folder (-o DIR)",
                    held.what(), folder_.string(), launch_.job));
  }
  write_file();
}

Coordinator::~Coordinator() {
  std::error_code ignored;
  if (lock_) std::filesystem::remove(folder_ / launch_file_name(launch_.job), ignored);
  lock_.reset();
  if (made_folder_) std::filesystem::remove(folder_, ignored);  // only if nothing was put into it
}

// Only the owner of the file can read the token.
void Coordinator::write_file() {
  const std::vector<std::string> addresses =
      launch_.is_on_one_node ? std::vector<std::string>() : interface_addresses();
  const mode_t before = ::umask(077);
  write_file_atomically(folder_ / launch_file_name(launch_.job), file_text({.job = launch_.job,
                                                                            .token = token_,
                                                                            .node = node_name(),
                                                                            .port = listener_.port(),
                                                                            .addresses = addresses}));
  ::umask(before);
}

void Coordinator::gather(const Facts& own, const std::function<void(const std::string&)>& waits) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  while (!is_complete() && std::chrono::steady_clock::now() < deadline) {
    waits(fmt::format("waiting for {}", missing_text()));
    receive(kLookAtAgents);
    if (!doubles_.empty()) throw std::invalid_argument(lines(doubles_));
  }
  gave_up_ = !is_complete();
  if (gave_up_)
    throw MachineError(
        fmt::format("{} did not connect within {} s (--launch-timeout-s): {} started {} processes, and each must be "
                    "able to read {} and reach {} at port {}",
                    missing_text(), timeout_.count() / 1000, launch_.launcher, launch_.size,
                    (folder_ / launch_file_name(launch_.job)).string(), node_name(), listener_.port()));
  std::error_code ignored;
  std::filesystem::remove(folder_ / launch_file_name(launch_.job), ignored);
  lock_.reset();
  if (const auto wrong = complaints(own); !wrong.empty()) throw std::invalid_argument(lines(wrong));
  place();
}

bool Coordinator::is_complete() const { return static_cast<std::int32_t>(agents_.size()) + 1 == launch_.size; }

std::vector<std::int32_t> Coordinator::missing() const {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 1; rank < launch_.size; ++rank)
    if (!agents_.contains(rank)) ranks.push_back(rank);
  return ranks;
}

std::string Coordinator::missing_text() const {
  return fmt::format("rank {} of {}", short_list(missing(), kNamed), launch_.size);
}

// A new connection is not trusted until its peer has proved that it knows the token.
void Coordinator::receive(milliseconds timeout) {
  std::vector<pollfd> files{{listener_.descriptor(), POLLIN, 0}};
  for (const Stranger& stranger : strangers_) files.push_back({stranger.channel.descriptor(), POLLIN, 0});
  for (const auto& [rank, agent] : agents_) files.push_back({agent->descriptor(), POLLIN, 0});
  ::poll(files.data(), files.size(), static_cast<int>(timeout.count()));
  for (const auto& [rank, agent] : agents_) agent->read();
  accept();
  strangers_.remove_if([this](Stranger& stranger) { return take_hello(stranger); });
}

void Coordinator::accept() {
  while (FileDescriptor connection = listener_.accept()) {
    Stranger stranger{MessageChannel(std::move(connection), "a process that connected"),
                      {.run_nonce = random_nonce()},
                      std::chrono::steady_clock::now() + kPatienceToHear};
    stranger.channel.limit(kLongestHello);
    try {
      stranger.channel.send(static_cast<std::uint32_t>(AgentMessage::challenge), stranger.handshake.run_nonce,
                            std::chrono::steady_clock::now() + kPatienceToWelcome);
      strangers_.push_back(std::move(stranger));
    } catch (const MachineError&) {
      // The peer disconnected.
    }
  }
}

// Whether to drop the channel: it was taken over, is a stranger's, or was silent for too long.
bool Coordinator::take_hello(Stranger& stranger) {
  MessageChannel& channel = stranger.channel;
  try {
    const std::optional<Message> message = channel.try_receive();
    if (!message) return std::chrono::steady_clock::now() > stranger.until;
    if (message->kind == kHelloWithToken && starts_with_secret(message->payload, token_))
      doubles_.push_back(fmt::format(
          "a launched process of an older version of Underlap connected: {} must start the same version everywhere",
          launch_.launcher));
    if (static_cast<AgentMessage>(message->kind) != AgentMessage::hello) return true;
    const std::string_view said = checked_message(token_, stranger.handshake, message->payload);
    if (said.data() == nullptr) return true;
    // Decoded only now, since this sender knows the token.
    Hello hello = from_message<Hello>(said);
    if (hello.child) {
      welcome(stranger);
      channel.trust(fmt::format("rank {}", hello.rank));
      connections_.insert_or_assign({hello.rank, *hello.child}, std::move(channel));
    } else {
      take_agent(stranger, std::move(hello));
    }
  } catch (const std::exception&) {
    // It disconnected, or sent an invalid message.
  }
  return true;
}

void Coordinator::welcome(Stranger& stranger) const {
  stranger.channel.send(static_cast<std::uint32_t>(AgentMessage::welcome), run_proof(token_, stranger.handshake),
                        std::chrono::steady_clock::now() + kPatienceToWelcome);
}

// A process that was not welcomed in time connects again.
void Coordinator::take_agent(Stranger& stranger, Hello hello) {
  if (!placement_.ranks.empty()) return;  // all have come
  const auto known = agents_.find(hello.rank);
  const RankPlace other = known != agents_.end() ? known->second->hello().place
                          : hello.rank == 0      ? own_place()
                                                 : RankPlace{};
  const bool is_same = other.pid == hello.place.pid && other.node == hello.place.node;
  if ((hello.rank == 0 || known != agents_.end()) && !is_same) {
    doubles_.push_back(fmt::format(
        "two processes have rank {} of {} according to {}'s variables: process {} on {} and process {} on {}",
        hello.rank, hello.size, launch_.launcher, other.pid, other.node, hello.place.pid, hello.place.node));
    return;
  }
  if (hello.rank < 0 || hello.rank >= launch_.size) {
    doubles_.push_back(
        fmt::format("process {} on {} is rank {} of {} according to its variables, but rank 0 is one of {}",
                    hello.place.pid, hello.place.node, hello.rank, hello.size, launch_.size));
    return;
  }
  welcome(stranger);
  const std::int32_t rank = hello.rank;
  agents_.insert_or_assign(rank, std::make_unique<Agent>(std::move(stranger.channel), std::move(hello)));
}

std::vector<std::string> Coordinator::complaints(const Facts& own) const {
  std::set<std::string> keys;
  std::vector<std::string> texts;
  for (const auto& [rank, agent] : agents_) {
    const Hello& hello = agent->hello();
    if (hello.size != launch_.size)
      texts.push_back(fmt::format("{} is one of {} according to its variables, but rank 0 is one of {}", agent->name(),
                                  hello.size, launch_.size));
    if (!hello.complaint.empty()) {
      texts.push_back(fmt::format("{}: {}", agent->name(), hello.complaint));
      continue;
    }
    for (const auto& [key, value] : own)
      if (const auto its = hello.facts.find(key); its == hello.facts.end() || its->second != value)
        texts.push_back(fmt::format("{} has {} {}, but rank 0 on {} has {}: it must be the same on all ranks of a run",
                                    agent->name(), key, its == hello.facts.end() ? "unknown" : its->second, node_name(),
                                    value));
  }
  return texts;
}

void Coordinator::place() {
  placement_ = {.launcher = launch_.launcher, .ranks = {own_place()}};
  std::vector<std::optional<std::int32_t>> said_local_ranks{launch_.local_rank};
  for (const auto& [rank, agent] : agents_) {
    const RankPlace& place = placement_.ranks.emplace_back(agent->hello().place);
    said_local_ranks.push_back(agent->hello().local_rank);
    if (place.node != placement_.ranks.front().node) placement_.ranks.front().address = agent->address_here();
  }
  complete(placement_, said_local_ranks);
}

MessageChannel Coordinator::connection_of(const ChildKey& key, Deadline deadline) {
  Agent& agent = *agents_.at(key.first);
  while (true) {
    if (auto found = connections_.extract(key)) return std::move(found.mapped());
    if (agent.is_lost()) throw MachineError(fmt::format("{} is lost: {}", agent.name(), agent.why_lost()));
    if (const auto& end = agent.child(key.second).end) throw MachineError(fmt::format("{} {}", agent.name(), *end));
    if (std::chrono::steady_clock::now() > deadline)
      throw MachineError(
          fmt::format("{} did not start its rank within {} s", agent.name(), kPatienceToStart.count() / 1000));
    receive(kLookAtAgents);
  }
}

// Starts all of them before waiting for the first.
std::vector<std::unique_ptr<RankLink>> Coordinator::start(std::int32_t num_ranks, const ChildOptions& child) {
  std::vector<ChildKey> keys;
  for (std::int32_t rank = 1; rank < num_ranks; ++rank)
    keys.emplace_back(rank, agents_.at(rank)->start(numbered(child, rank)));
  std::vector<std::unique_ptr<RankLink>> links;
  try {
    links.push_back(std::make_unique<ChildLink>(0, child));
    const Deadline deadline = std::chrono::steady_clock::now() + kPatienceToStart;
    for (const ChildKey& key : keys)
      links.push_back(std::make_unique<AgentLink>(connection_of(key, deadline), *agents_.at(key.first), key.second));
  } catch (...) {
    for (const ChildKey& key : keys) agents_.at(key.first)->kill(key.second);
    throw;
  }
  return links;
}

void Coordinator::end(int exit_code) noexcept {
  try {
    const Deadline deadline =
        std::chrono::steady_clock::now() + (gave_up_ ? milliseconds(0) : std::min(timeout_, kEndTimeout));
    while (!is_complete() && doubles_.empty() && std::chrono::steady_clock::now() < deadline) receive(kLookAtAgents);
  } catch (const std::exception&) {
    // Processes that do not get the message find the connection closed.
  }
  for (const auto& [rank, agent] : agents_) agent->end(exit_code);
}

}  // namespace underlap::bench
