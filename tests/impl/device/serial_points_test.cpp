// SPDX-License-Identifier: Apache-2.0
#include "impl/device/serial_points.hpp"

#include "impl/device/recording_device.hpp"
#include "tests/testing.hpp"

namespace underlap {
namespace {

// A program on two streams, whose launches have names.
class Streams {
 public:
  Streams() : first(device.create_stream("first")), second(device.create_stream("second")) {}

  void run(Stream stream, const std::string& name) {
    const NameId id = intern(name);
    device.launch(stream, {.kind = Kind::compute, .purpose = id}, Operation(id, nullptr, Cost{}, {}));
  }
  void wait(Stream stream, Stream awaited) { device.wait(stream, device.record(awaited)); }

  /// The names of the launches that are points, where those whose name begins with "-" are no work.
  std::vector<std::string> points() {
    const Program program = device.take_program();
    const auto is_launch = [&](std::size_t c) { return program.commands[c].type == ProgramCommand::Type::launch; };
    std::vector<bool> is_work(program.commands.size());
    for (std::size_t c = 0; c < is_work.size(); ++c)
      is_work[c] = is_launch(c) && name_of(program.commands[c].name).front() != '-';
    std::vector<std::string> names;
    for (const std::uint32_t point : serial_points(program, is_work))
      if (is_launch(point)) names.emplace_back(name_of(program.commands[point].name));
    return names;
  }

  RecordingDevice device{Detail::costs};
  Stream first, second;
};

TEST(SerialPoints, AreAllCommandsOfOneStream) {
  Streams s;
  s.run(s.first, "a");
  s.run(s.first, "b");
  EXPECT_THAT(s.points(), ElementsAre("a", "b"));
}

TEST(SerialPoints, AreNotTheBranchesOfAFork) {
  Streams s;
  s.run(s.first, "before");
  s.wait(s.second, s.first);
  s.run(s.first, "left");
  s.run(s.second, "right");
  s.wait(s.first, s.second);
  s.run(s.first, "after");
  EXPECT_THAT(s.points(), ElementsAre("before", "after"));
}

TEST(SerialPoints, EndWhereABranchIsNeverJoined) {
  Streams s;
  s.run(s.first, "before");
  s.wait(s.second, s.first);
  s.run(s.second, "right");
  s.run(s.first, "beside");
  EXPECT_THAT(s.points(), ElementsAre("before"));
}

TEST(SerialPoints, BeginWhereABranchIsJoinedThatNothingPrecedes) {
  Streams s;
  s.run(s.second, "right");
  s.run(s.first, "beside");
  s.wait(s.first, s.second);
  s.run(s.first, "after");
  EXPECT_THAT(s.points(), ElementsAre("after"));
}

TEST(SerialPoints, SeeOrdersThatLeadOverAThirdStream) {
  Streams s;
  const Stream third = s.device.create_stream("third");
  s.run(s.first, "a");
  s.wait(third, s.first);
  s.wait(s.second, third);
  s.run(s.second, "b");
  EXPECT_THAT(s.points(), ElementsAre("a", "b"));
}

TEST(SerialPoints, DoNotAskForWhatIsNoWork) {
  Streams s;
  s.run(s.second, "- copy");
  s.run(s.first, "a");
  s.run(s.first, "b");
  EXPECT_THAT(s.points(), ElementsAre("a", "b"));
}

TEST(SerialPoints, SeeWhatTheHostWaitsFor) {
  Streams s;
  s.run(s.first, "a");
  s.device.synchronize();
  s.run(s.second, "b");
  EXPECT_THAT(s.points(), ElementsAre("a", "b"));
}

TEST(SerialPoints, KnowNothingOfEarlierPrograms) {
  Streams s;
  s.run(s.first, "earlier");
  const Event event = s.device.record(s.first);
  s.device.take_program();
  s.device.wait(s.second, event);
  s.run(s.second, "a");
  EXPECT_THAT(s.points(), ElementsAre("a"));
}

}  // namespace
}  // namespace underlap
