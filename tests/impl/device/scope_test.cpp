// SPDX-License-Identifier: Apache-2.0
#include "impl/device/scope.hpp"

#include "impl/device/recording_device.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "tests/testing.hpp"

namespace underlap {
namespace {

class ScopeTest : public testing::Test {
 protected:
  // "other waits for compute", "compute: tp sum" and "tp_ring: tp hop".
  std::vector<std::string> program() const {
    const Program& all = device_.program();
    std::vector<std::string> lines;
    for (const ProgramCommand& c : all.commands) {
      const std::string& stream = all.streams[c.stream].name;
      if (c.type == ProgramCommand::Type::wait)
        lines.push_back(stream + " waits for " + all.streams[c.awaited_stream].name);
      else
        lines.push_back(stream + ": " + std::string(to_string(c.tag.mode)) + " " + std::string(name_of(c.tag.purpose)));
    }
    return lines;
  }
  Transfer sum() const { return {.collective = Collective::all_reduce, .input = x_, .output = x_}; }

  RecordingDevice device_;
  Stream compute_ = device_.create_stream("compute"), other_ = device_.create_stream("other");
  Communicator ring_ = device_.declare("ring", {{0, 1}, 0});
  View x_ = flat(device_.allocate("x", DataType::f32, 8));
  Scope scope_{device_, compute_, Mode::tp};
};

TEST_F(ScopeTest, ForksFromComputeAndJoinsItAgain) {
  scope_.fork({other_, ring_.stream});
  scope_.join({other_, ring_.stream});
  EXPECT_THAT(program(), ElementsAre("other waits for compute", "ring waits for compute", "compute waits for other",
                                     "compute waits for ring"));
}

TEST_F(ScopeTest, HasNoStreamWaitForItself) {
  scope_.fork({compute_});
  scope_.join({compute_});
  scope_.follow(other_, other_);
  EXPECT_THAT(program(), IsEmpty());
}

TEST_F(ScopeTest, TagsWhatItEnqueuesWithItsModeAndKeepsTheRest) {
  scope_.launch(other_, {.layer = 3, .step = 5}, Kind::copy, intern("copy_in"), kernels::fill(x_, 0));
  scope_.communicate(ring_, {.layer = 3, .step = 5}, intern("hop"), {sum()});
  EXPECT_THAT(program(), ElementsAre("other: tp copy_in", "ring: tp hop"));
  for (const ProgramCommand& command : device_.program().commands) {
    EXPECT_EQ(command.tag.layer, 3);
    EXPECT_EQ(command.tag.step, 5);
  }
  EXPECT_EQ(device_.program().commands[0].tag.kind, Kind::copy);
  EXPECT_EQ(device_.program().commands[1].tag.kind, Kind::communication);
}

TEST_F(ScopeTest, CommunicatesBetweenWhatComputeHoldsAndWhatItIsGivenNext) {
  scope_.communicate_at_once(ring_, {}, intern("sum"), {sum()});
  EXPECT_THAT(program(), ElementsAre("ring waits for compute", "ring: tp sum", "compute waits for ring"));
}

}  // namespace
}  // namespace underlap
