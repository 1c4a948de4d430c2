// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "kernels/cuda/implementations.hpp"
#include "kernels/registry.hpp"

namespace underlap::cuda {
namespace {

using Names = std::multiset<std::string>;

TEST(CudaImplementations, EveryOperationHasOneAndNothingElseDoes) {
  Names operations, implemented;
  for (const kernels::KernelInfo& kernel : kernels::registered_kernels()) operations.insert(std::string(kernel.name));
  for (const CudaImplementationInfo& info : registered_cuda_implementations())
    implemented.insert(std::string(info.operation));
  EXPECT_FALSE(implemented.empty());
  EXPECT_EQ(implemented, operations);
}

}  // namespace
}  // namespace underlap::cuda
