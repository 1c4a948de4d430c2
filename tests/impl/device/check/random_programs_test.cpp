// SPDX-License-Identifier: Apache-2.0
// Random programs against an oracle that knows nothing of clocks: reachability over the whole graph of commands.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

#include "impl/device/check/accesses.hpp"
#include "impl/device/check/checks.hpp"
#include "tests/impl/device/check/rank_programs.hpp"

namespace underlap::check {
namespace {

using Type = ProgramCommand::Type;

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  std::int64_t operator()(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

 private:
  std::mt19937 random_;
};

// Which commands have ended when another starts: an edge for each order, and the closure of all.
class Oracle {
 public:
  explicit Oracle(const Program& program) : program_(program), ends_before_(program.commands.size()) {
    for (std::size_t c = 0; c < program.commands.size(); ++c) {
      ends_before_[c].resize(program.commands.size(), false);
      for (std::size_t earlier = 0; earlier < c; ++earlier)
        if (is_edge(earlier, c)) add(earlier, c);
    }
  }

  // Pairs of commands that conflict and are in no order.
  std::set<std::pair<std::uint32_t, std::uint32_t>> races() const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t b = 0; b < program_.commands.size(); ++b)
      for (std::uint32_t a = 0; a < b; ++a)
        if (!ends_before_[b][a] && commands_conflict(a, b)) pairs.insert({a, b});
    return pairs;
  }

  bool commands_conflict(std::uint32_t a, std::uint32_t b) const {
    for (const MemoryAccess& x : accesses_of(program_, program_.commands[a]))
      for (const MemoryAccess& y : accesses_of(program_, program_.commands[b]))
        if (conflict(x, y)) return true;
    return false;
  }

 private:
  void add(std::size_t earlier, std::size_t c) {
    ends_before_[c][earlier] = true;
    for (std::size_t i = 0; i < earlier; ++i)
      if (ends_before_[earlier][i]) ends_before_[c][i] = true;
  }

  bool is_edge(std::size_t earlier, std::size_t c) const {
    const ProgramCommand& a = program_.commands[earlier];
    const ProgramCommand& b = program_.commands[c];
    if (a.type == Type::synchronize) return true;  // the host stands still: nothing later was enqueued before its end
    if (a.stream == b.stream && b.type != Type::synchronize) return true;
    if (b.type != Type::wait && b.type != Type::synchronize) return false;
    if (a.stream != b.awaited_stream) return false;
    return position_of(earlier) <= b.awaited_position;
  }

  std::uint64_t position_of(std::size_t c) const {
    const ProgramCommand& command = program_.commands[c];
    const auto is_on = [&](const ProgramCommand& other) {
      return other.is_on_stream() && other.stream == command.stream;
    };
    return static_cast<std::uint64_t>(std::count_if(
        program_.commands.begin(), program_.commands.begin() + static_cast<std::ptrdiff_t>(c) + 1, is_on));
  }

  const Program& program_;
  std::vector<std::vector<bool>> ends_before_;  // [c][earlier]
};

std::vector<std::pair<std::uint32_t, std::uint32_t>> races_found(const Program& program) {
  const std::vector<ProgramIndex> ranks{ProgramIndex(program)};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Finding& finding : check_memory(ranks, 0))
    pairs.emplace_back(finding.commands.at(0).index, finding.commands.at(1).index);
  return pairs;
}

// Launches on four streams that use two written tensors at random; each waits for what it conflicts with, mostly.
Program random_program(Dice& dice, bool is_careful) {
  RecordingDevice device;
  std::vector<Stream> streams;
  for (const char* name : {"a", "b", "c", "d"}) streams.push_back(device.create_stream(name));
  std::vector<Tensor> tensors;
  for (const char* name : {"x", "y"}) tensors.push_back(device.allocate(name, DataType::f32, 32));
  std::vector<std::pair<std::uint32_t, Event>> after;  // each launch's command, and the moment when it has ended
  // A few views again and again, so that some cover others, and any.
  const auto random_view = [&] {
    const Tensor& tensor = tensors[static_cast<std::size_t>(dice(0, 1))];
    if (dice(0, 1) == 0) return flat(tensor, 8 * dice(0, 1), 8 * dice(1, 2));
    const View view{.tensor = tensor,
                    .offset = dice(0, 15),
                    .rows = dice(1, 3),
                    .cols = dice(1, 3),
                    .leading_dimension = dice(3, 5)};
    return view;
  };
  const auto launch = [&](Stream stream, std::initializer_list<Use> uses) {
    const NameId name = intern("op");
    // Enqueued for trial on a copy, to see what it would race with.
    RecordingDevice trial = device;
    trial.launch(stream, {.purpose = name}, Operation(name, nullptr, {}, uses));
    if (is_careful || dice(0, 3) > 0)
      for (const auto& [a, b] : Oracle(trial.program()).races())
        for (const auto& [command, event] : after)
          if (command == a) device.wait(stream, event);
    device.launch(stream, {.purpose = name}, Operation(name, nullptr, {}, uses));
    after.emplace_back(device.program().commands.size() - 1, device.record(stream));
  };
  launch(streams[0], {{flat(tensors[0]), Access::out}, {flat(tensors[1]), Access::out}});
  for (int i = 0; i < 16; ++i) {
    if (dice(0, 9) == 0) device.synchronize(after[static_cast<std::size_t>(dice(0, std::ssize(after) - 1))].second);
    if (dice(0, 9) == 0) device.throttle(streams[static_cast<std::size_t>(dice(0, 3))], after.back().second);
    const View first = random_view();
    const Stream stream = streams[static_cast<std::size_t>(dice(0, 3))];
    const auto access = static_cast<Access>(dice(0, 2));
    launch(stream, {{first, access}});
  }
  return device.program();
}

TEST(RandomPrograms, ThatAreValidGiveNoFinding) {
  Dice dice(1);
  for (int round = 0; round < 150; ++round) {
    const Program program = random_program(dice, true);
    ASSERT_TRUE(Oracle(program).races().empty());
    EXPECT_TRUE(races_found(program).empty()) << "round " << round;
  }
}

TEST(RandomPrograms, ThatLackOrdersGiveRacesThatTheOracleKnows) {
  Dice dice(2);
  int num_racing = 0;
  for (int round = 0; round < 150; ++round) {
    const Program program = random_program(dice, false);
    const auto known = Oracle(program).races();
    const auto found = races_found(program);
    EXPECT_EQ(found.empty(), known.empty()) << "round " << round;
    for (const auto& pair : found) EXPECT_TRUE(known.contains(pair)) << "round " << round;
    num_racing += known.empty() ? 0 : 1;
  }
  EXPECT_GT(num_racing, 50);
}

TEST(RandomPrograms, EveryWaitThatIsNeededIsMissedWhenItGoes) {
  Dice dice(3);
  int num_needed = 0;
  for (int round = 0; round < 60; ++round) {
    Program program = random_program(dice, true);
    for (ProgramCommand& command : program.commands) {
      if (command.type != Type::wait) continue;
      const std::uint64_t position = std::exchange(command.awaited_position, 0);
      const auto known = Oracle(program).races();
      const auto found = races_found(program);
      EXPECT_EQ(found.empty(), known.empty()) << "round " << round;
      for (const auto& pair : found) EXPECT_TRUE(known.contains(pair)) << "round " << round;
      num_needed += known.empty() ? 0 : 1;
      command.awaited_position = position;
    }
  }
  EXPECT_GT(num_needed, 100);
}

// Collectives of random groups, issued by every rank in one order.
RankPrograms random_collectives(Dice& dice, bool is_swapped) {
  RankPrograms ranks(4);
  std::vector<std::vector<Communicator>> groups;
  for (const char* purpose : {"one", "two", "three"}) groups.push_back(ranks.declare(purpose));
  std::vector<std::size_t> order;
  for (int i = 0; i < 12; ++i) order.push_back(static_cast<std::size_t>(dice(0, 2)));
  order[4] = 0;
  order[5] = 1;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    if (rank == 3 && is_swapped) std::swap(order[4], order[5]);
    for (const std::size_t g : order) {
      const Communicator& own = groups[g][static_cast<std::size_t>(rank)];
      if (dice(0, 1) == 0) ranks[rank].order(own.stream, ranks[rank].a);
      if (dice(0, 1) == 0) ranks[rank].order(ranks[rank].a, own.stream);
      ranks[rank].all_reduce(own, "sum", flat(ranks[rank].x));
    }
  }
  return ranks;
}

bool has(const CheckReport& report, FindingKind kind) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) { return f.kind == kind; });
}

TEST(RandomPrograms, IssuedInOneOrderNeverDeadlock) {
  Dice dice(4);
  for (int round = 0; round < 60; ++round) {
    const CheckReport report =
        random_collectives(dice, false).report({.connections = {0, 3, 2, 1}, .launch_queue_depth = 2});
    EXPECT_FALSE(has(report, FindingKind::deadlock)) << "round " << round;
    EXPECT_FALSE(has(report, FindingKind::issue_order)) << "round " << round;
  }
}

TEST(RandomPrograms, IssuedInTwoOrdersAreFound) {
  Dice dice(5);
  for (int round = 0; round < 60; ++round)
    EXPECT_TRUE(has(random_collectives(dice, true).report(), FindingKind::issue_order)) << "round " << round;
}

}  // namespace
}  // namespace underlap::check
