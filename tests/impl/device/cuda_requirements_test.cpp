// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/requirements.hpp"
#include "platform/errors.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

template <int kVersion>
int driver(int* version) {
  *version = kVersion;
  return 0;
}

template <int kStatus>
int initialize(unsigned) {
  return kStatus;
}

template <int kCount>
int gpus(int* count) {
  *count = kCount;
  return 0;
}

int words(int status, const char** text) {
  *text = status == 803 ? "system has unsupported display driver / cuda driver combination" : nullptr;
  return *text == nullptr ? 1 : 0;
}

CudaQueries machine() {
  CudaQueries queries;
  queries.runtime_version = 13000;
  queries.driver_version = driver<13010>;
  queries.initialize = initialize<0>;
  queries.device_count = gpus<2>;
  queries.error_text = words;
  return queries;
}

TEST(CudaRequirements, AMachineWithEnoughGpusPasses) {
  CudaQueries queries = machine();
  check_cuda_machine(2, queries);
  queries.runtime_version = 13020;  // an older driver of the same major version runs it
  check_cuda_machine(1, queries);
}

TEST(CudaRequirements, NoDriver) {
  CudaQueries queries = machine();
  queries.driver_version = nullptr;
  queries.why_no_driver = "libcuda.so.1 was not found";
  EXPECT_THAT(
      [&] { check_cuda_machine(1, queries); },
      ThrowsMessage<MachineError>(AllOf(HasSubstr("there is no NVIDIA driver on this machine: libcuda.so.1 was"),
                                        HasSubstr("\n  install one for CUDA 13"))));
}

TEST(CudaRequirements, DriverOlderThanTheRuntimeNamesBothVersions) {
  CudaQueries queries = machine();
  queries.driver_version = driver<12040>;
  EXPECT_THAT([&] { check_cuda_machine(1, queries); },
              ThrowsMessage<MachineError>(HasSubstr("is for CUDA 12.4, and this program was built with 13.0")));
}

TEST(CudaRequirements, DriverThatCannotBeUsed) {
  CudaQueries queries = machine();
  queries.initialize = initialize<803>;
  EXPECT_THAT([&] { check_cuda_machine(1, queries); },
              ThrowsMessage<MachineError>(HasSubstr("driver combination (CUDA error 803)")));
  queries.initialize = initialize<999>;
  EXPECT_THAT([&] { check_cuda_machine(1, queries); }, ThrowsMessage<MachineError>(HasSubstr("used: CUDA error 999")));
}

TEST(CudaRequirements, NoGpu) {
  CudaQueries queries = machine();
  queries.initialize = initialize<100>;
  queries.device_count = gpus<0>;
  EXPECT_THAT([&] { check_cuda_machine(1, queries); },
              ThrowsMessage<MachineError>(HasSubstr("there is no GPU on this machine")));
  queries.initialize = initialize<0>;
  EXPECT_THAT([&] { check_cuda_machine(1, queries); },
              ThrowsMessage<MachineError>(HasSubstr("there is no GPU on this machine")));
}

TEST(CudaRequirements, FewerGpusThanRanksSaysWhichLayoutFits) {
  CudaQueries queries = machine();
  EXPECT_THAT(
      [&] { check_cuda_machine(8, queries); },
      ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("2 GPUs are available"), HasSubstr("the layout needs 8"),
                                                 HasSubstr("\n  data_parallel_size 1 to 2 fits"))));
  queries.device_count = gpus<1>;
  EXPECT_THAT([&] { check_cuda_machine(2, queries); },
              ThrowsMessage<std::invalid_argument>(
                  AllOf(HasSubstr("1 GPU is available"), HasSubstr("\n  data_parallel_size 1 fits"))));
}

}  // namespace
}  // namespace underlap::cuda
