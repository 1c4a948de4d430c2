// SPDX-License-Identifier: Apache-2.0
#include "impl/device/makespan.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "impl/device/call_partners.hpp"
#include "impl/device/one_machine.hpp"
#include "impl/device/program_index.hpp"
#include "impl/device/serial_points.hpp"

namespace underlap {
namespace {

using Type = ProgramCommand::Type;

// Sentinel of heads and tails for "unreachable": stays negative after adding any path length.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;

/// Moments and the minimum times between them.
class Moments {
 public:
  explicit Moments(std::size_t count) : count_(count) {}

  void add(std::size_t from, std::size_t to, std::int64_t ns) {
    edges_.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), ns});
  }

  /// Called once, after all calls of add(). Throws std::invalid_argument if there is a cycle.
  void sort() { sort_by_time(); }

  /// Computes the path lengths of several queries at once, because one pass over the edges dominates the time.
  static constexpr std::size_t kAtOnce = 4;
  using Lengths = std::vector<std::array<std::int64_t, kAtOnce>>;  // by moment
  struct Range {
    std::size_t first = 0, last = 0;
  };

  /// The longest path to each moment from any moment of a range; negative if there is no path.
  void find_heads(std::span<const Range> starts, Lengths& heads) const {
    heads.assign(count_, none());
    for (std::size_t k = 0; k < starts.size(); ++k)
      for (std::size_t i = starts[k].first; i < starts[k].last; ++i) heads[i][k] = 0;
    for (const std::uint32_t from : order_) {
      const auto head = heads[from];
      for (std::uint32_t e = first_[from]; e < first_[from + 1]; ++e) lengthen(heads[edges_[e].to], head, edges_[e].ns);
    }
  }

  /// The longest path from each moment to a target; negative if there is no path.
  void find_tails(std::span<const std::size_t> targets, Lengths& tails) const {
    tails.assign(count_, none());
    for (std::size_t k = 0; k < targets.size(); ++k) tails[targets[k]][k] = 0;
    for (auto from = order_.rbegin(); from != order_.rend(); ++from) {
      auto tail = tails[*from];
      for (std::uint32_t e = first_[*from]; e < first_[*from + 1]; ++e)
        lengthen(tail, tails[edges_[e].to], edges_[e].ns);
      tails[*from] = tail;
    }
  }

 private:
  struct Edge {
    std::uint32_t from, to;
    std::int64_t ns;
  };

  static std::array<std::int64_t, kAtOnce> none() {
    std::array<std::int64_t, kAtOnce> lengths;
    lengths.fill(kNever);
    return lengths;
  }
  static void lengthen(std::array<std::int64_t, kAtOnce>& longest, const std::array<std::int64_t, kAtOnce>& before,
                       std::int64_t ns) {
    for (std::size_t k = 0; k < kAtOnce; ++k) longest[k] = std::max(longest[k], before[k] + ns);
  }

  void sort_by_time() {
    first_.assign(count_ + 1, 0);
    std::vector<std::uint32_t> pending(count_, 0);
    for (const Edge& edge : edges_) ++first_[edge.from + 1], ++pending[edge.to];
    for (std::size_t i = 0; i < count_; ++i) first_[i + 1] += first_[i];
    std::vector<Edge> by_start(edges_.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Edge& edge : edges_) by_start[next[edge.from]++] = edge;
    edges_ = std::move(by_start);
    order_.reserve(count_);
    for (std::uint32_t i = 0; i < count_; ++i)
      if (pending[i] == 0) order_.push_back(i);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (std::uint32_t e = first_[order_[i]]; e < first_[order_[i] + 1]; ++e)
        if (--pending[edges_[e].to] == 0) order_.push_back(edges_[e].to);
    if (order_.size() < count_) throw std::invalid_argument("the programs wait for each other in a cycle");
  }

  std::size_t count_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> first_;  // by moment: its first edge
  std::vector<std::uint32_t> order_;  // topological order
};

constexpr std::size_t kLinks = std::tuple_size_v<decltype(CommandTime::links)>;

/// The jobs of the machines of a rank that serve one command at a time: its compute, and each direction of its links.
struct RankJobs {
  std::vector<MachineJob> compute;
  std::array<std::vector<MachineJob>, kLinks> send, receive;
};

class Play {
 public:
  Play(std::span<const Program> programs, const TimeOf& time_of)
      : programs_(programs),
        partners_(find_call_partners(programs)),
        bases_(bases_of(programs)),
        moments_(2 * bases_.back()) {
    times_.resize(bases_.back());
    for (std::size_t p = 0; p < programs.size(); ++p) {
      add_program(p, time_of);
      add_compute_between_points(p);
    }
    for (const CallPartner& m : partners_)
      moments_.add(start(m.partner), end(m.call),
                   static_cast<std::int64_t>(static_cast<double>(time(m.call).alone_ns) *
                                             std::max(m.send_share, m.receive_share)));
    moments_.sort();
  }

  /// The bounds of each rank, from its own start to its own mark. In a series of steps a rank starts the next step
  /// while other ranks finish this one.
  StepBounds bounds() {
    StepBounds bounds;
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      if (p % Moments::kAtOnce == 0) find_paths(p);
      question_ = p % Moments::kAtOnce;
      bounds.schedule_ns = std::max(bounds.schedule_ns, head(marks_[p]));
      const RankJobs jobs = jobs_of(p);
      count(jobs.compute, bounds);
      for (const auto* directions : {&jobs.send, &jobs.receive})
        for (const std::vector<MachineJob>& of_link : *directions) count(of_link, bounds);
    }
    return bounds;
  }

 private:
  static void count(const std::vector<MachineJob>& jobs, StepBounds& bounds) {
    if (jobs.empty()) return;
    std::int64_t work = 0;
    for (const MachineJob& job : jobs) work += job.work;
    bounds.ideal_ns = std::max(bounds.ideal_ns, work);
    bounds.schedule_ns = std::max(bounds.schedule_ns, one_machine_bound_ns(jobs));
  }

  // For rank `first` and the ranks that follow it.
  void find_paths(std::size_t first) {
    std::vector<Moments::Range> starts;
    std::vector<std::size_t> marks;
    for (std::size_t p = first; p < std::min(first + Moments::kAtOnce, programs_.size()); ++p) {
      starts.push_back({2 * bases_[p], 2 * bases_[p + 1]});
      marks.push_back(marks_[p]);
    }
    moments_.find_heads(starts, heads_);
    moments_.find_tails(marks, tails_);
  }
  std::int64_t head(std::size_t moment) const { return heads_[moment][question_]; }
  std::int64_t tail(std::size_t moment) const { return tails_[moment][question_]; }

  std::size_t start(CommandAt at) const { return 2 * (bases_[at.program] + at.command); }
  std::size_t end(CommandAt at) const { return start(at) + 1; }
  const CommandTime& time(CommandAt at) const { return times_[bases_[at.program] + at.command]; }

  static std::vector<std::size_t> bases_of(std::span<const Program> programs) {
    std::vector<std::size_t> bases{0};
    for (const Program& program : programs) bases.push_back(bases.back() + program.commands.size());
    return bases;
  }

  void add_program(std::size_t p, const TimeOf& time_of) {
    const ProgramIndex program(programs_[p]);
    std::optional<std::size_t> last_mark;
    std::optional<std::size_t> host;  // end of the host's last block; later commands are enqueued after it
    for (std::uint32_t c = 0; c < program.num_commands(); ++c) {
      const ProgramCommand& command = program.command(c);
      const CommandAt at{static_cast<std::uint32_t>(p), c};
      if (command.type == Type::launch || command.type == Type::upload || command.type == Type::communicate)
        times_[bases_[p] + c] = time_of(p, command);
      moments_.add(start(at), end(at), time(at).alone_ns);
      if (host) moments_.add(*host, start(at), 0);
      program.visit_awaited(c, [&](std::uint32_t stream, std::uint32_t position) {
        moments_.add(end({at.program, program.on_stream(stream)[position - 1]}), start(at), 0);
      });
      if (command.type == Type::synchronize) host = end(at);
      if (command.type == Type::mark) last_mark = end(at);
    }
    if (!last_mark) throw std::invalid_argument("a program without a mark has no end");
    marks_.push_back(*last_mark);
  }

  // Between two points that all compute of a rank is ordered by, its total compute is a lower bound of the time, on any
  // number of streams.
  void add_compute_between_points(std::size_t p) {
    const Program& program = programs_[p];
    const auto device_ns = [&](std::size_t c) { return times_[bases_[p] + c].device_ns; };
    std::vector<bool> computes(program.commands.size());
    for (std::size_t c = 0; c < computes.size(); ++c) computes[c] = device_ns(c) > 0;
    std::size_t from = start({static_cast<std::uint32_t>(p), 0});
    std::size_t next = 0;  // command
    for (const std::uint32_t point : serial_points(program, computes)) {
      std::int64_t ns = 0;
      for (; next < point; ++next) ns += device_ns(next);
      const CommandAt at{static_cast<std::uint32_t>(p), point};
      if (ns > 0) moments_.add(from, start(at), ns);
      from = end(at);
      next = point + 1;
    }
  }

  /// The earliest time at which each call of a program can send and receive: a direction in which all bytes need a
  /// partner waits for it.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> transfer_heads(std::size_t p) const {
    std::vector<std::int64_t> send(bases_[p + 1] - bases_[p]);
    for (std::size_t c = 0; c < send.size(); ++c) send[c] = head(2 * (bases_[p] + c));
    std::vector<std::int64_t> receive = send;
    for (const CallPartner& m : partners_) {
      if (m.call.program != p) continue;
      const std::size_t c = m.call.command;
      if (m.send_share >= 1) send[c] = std::max(send[c], head(start(m.partner)));
      if (m.receive_share >= 1) receive[c] = std::max(receive[c], head(start(m.partner)));
    }
    return {std::move(send), std::move(receive)};
  }

  RankJobs jobs_of(std::size_t p) const {
    RankJobs jobs;
    const auto [send_heads, receive_heads] = transfer_heads(p);
    for (std::size_t i = bases_[p]; i < bases_[p + 1]; ++i) {
      const std::int64_t tail = this->tail(2 * i + 1);
      if (tail < 0) continue;
      const CommandTime& t = times_[i];
      if (t.device_ns > 0) jobs.compute.push_back({head(2 * i), t.device_ns, tail});
      for (std::size_t link = 0; link < t.links.size(); ++link) {
        const auto [send_ns, receive_ns] = t.links[link];
        if (send_ns > 0) jobs.send[link].push_back({send_heads[i - bases_[p]], send_ns, tail});
        if (receive_ns > 0) jobs.receive[link].push_back({receive_heads[i - bases_[p]], receive_ns, tail});
      }
    }
    return jobs;
  }

  std::span<const Program> programs_;
  std::vector<CallPartner> partners_;
  std::vector<std::size_t> bases_;  // by program: index of its first command in the list of all commands
  Moments moments_;
  std::vector<CommandTime> times_;  // by command of all programs
  Moments::Lengths heads_;          // by moment: starts are even, ends odd; from the start of the current ranks
  Moments::Lengths tails_;          // to their marks
  std::size_t question_ = 0;        // index of the current rank in these
  std::vector<std::size_t> marks_;  // by program: the end of its last mark
};

}  // namespace

StepBounds step_bounds(std::span<const Program> programs, const TimeOf& time_of) {
  return Play(programs, time_of).bounds();
}

}  // namespace underlap
