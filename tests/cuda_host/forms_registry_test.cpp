// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "kernels/cuda/forms.hpp"
#include "kernels/registry.hpp"

namespace underlap::cuda {
namespace {

using Names = std::multiset<std::string>;

/// Operations whose CUDA forms are still to be written.
const Names kMissing{"attention_backward", "attention_forward", "gemm_dgrad", "gemm_fprop", "gemm_wgrad"};

TEST(CudaForms, EveryOperationHasOneAndNothingElseDoes) {
  Names operations = kMissing, forms = kMissing;
  for (const kernels::KernelInfo& kernel : kernels::registered_kernels()) operations.insert(std::string(kernel.name));
  for (const CudaFormInfo& info : registered_cuda_forms()) forms.insert(std::string(info.operation));
  for (const std::string& name : kMissing) operations.erase(operations.find(name));
  EXPECT_FALSE(forms.empty());
  EXPECT_EQ(forms, operations);
}

}  // namespace
}  // namespace underlap::cuda
