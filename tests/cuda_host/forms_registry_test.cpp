// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "kernels/cuda/forms.hpp"
#include "kernels/registry.hpp"

namespace underlap::cuda {
namespace {

using Names = std::multiset<std::string>;

TEST(CudaForms, EveryOperationHasOneAndNothingElseDoes) {
  Names operations, forms;
  for (const kernels::KernelInfo& kernel : kernels::registered_kernels()) operations.insert(std::string(kernel.name));
  for (const CudaFormInfo& info : registered_cuda_forms()) forms.insert(std::string(info.operation));
  EXPECT_FALSE(forms.empty());
  EXPECT_EQ(forms, operations);
}

}  // namespace
}  // namespace underlap::cuda
