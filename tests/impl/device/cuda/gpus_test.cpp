// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/gpus.hpp"

#include <gmock/gmock.h>

#include "platform/errors.hpp"
#include "tests/cuda_host/machine.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::Machine;
using testing::AllOf;
using testing::HasSubstr;

class Gpus : public testing::Test {
 protected:
  ~Gpus() override { Machine::instance().reset(1, 1); }
  static std::string refusal(int needed) {
    try {
      require_gpus(needed, "data_parallel_size 4");
    } catch (const MachineError& error) {
      return error.what();
    }
    return {};
  }
};

TEST_F(Gpus, AreCounted) {
  Machine::instance().reset(4, 1);
  EXPECT_EQ(require_gpus(4, "data_parallel_size 4"), 4);
}

TEST_F(Gpus, TooFewAreRefusedWithHowManyWouldFit) {
  Machine::instance().reset(2, 1);
  EXPECT_THAT(refusal(4), AllOf(HasSubstr("data_parallel_size 4 needs 4 GPUs"), HasSubstr("has 2"),
                                HasSubstr("layout of 2 ranks would fit")));
}

TEST_F(Gpus, NoneIsRefused) {
  Machine::instance().reset(0, 1);
  EXPECT_THAT(refusal(1), HasSubstr("no GPU is visible"));
}

TEST_F(Gpus, ADriverThatIsMissingOrTooOldIsRefusedWithBothVersions) {
  Machine::instance().set_driver(12020);
  EXPECT_THAT(refusal(1), AllOf(HasSubstr("up to 12.2"), HasSubstr("newer driver")));
  Machine::instance().set_driver(0);
  EXPECT_THAT(refusal(1), HasSubstr("no NVIDIA driver"));
}

}  // namespace
}  // namespace underlap::cuda
