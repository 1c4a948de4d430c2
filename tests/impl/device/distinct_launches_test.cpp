// SPDX-License-Identifier: Apache-2.0
#include "impl/device/distinct_launches.hpp"

#include <gtest/gtest.h>

#include "kernels/copy/copy.hpp"
#include "kernels/gemm/gemm.hpp"

namespace underlap {
namespace {

class Distinct : public testing::Test {
 protected:
  View rows_from(std::int64_t element) const { return matrix(memory_, 16, 16, element); }
  void launch(const Operation& operation) { device_.launch(stream_, {}, operation); }
  std::size_t num_launches() { return device_.take().size(); }

  DistinctLaunches device_;
  Stream stream_ = device_.create_stream("compute");
  Tensor memory_ = device_.allocate("memory", DataType::bf16, 4096);
};

// cuBLASLt is told how far pointers are aligned, up to 256 bytes, and may choose by it.
TEST_F(Distinct, ProductsDifferByTheAlignmentThatCublasltIsTold) {
  for (const std::int64_t weights : {1024, 1024 + 64, 1024 + 128, 1024 + 192})  // 2048 bytes, and 128 bytes each
    launch(kernels::gemm_fprop(rows_from(0), rows_from(weights), rows_from(2048)));
  EXPECT_EQ(num_launches(), 2U);
}

TEST_F(Distinct, OthersDifferByWhatAThreadMovesAtOnce) {
  for (const std::int64_t from : {1024, 1024 + 64, 1024 + 128, 1024 + 4})
    launch(kernels::copy(rows_from(from), rows_from(0)));
  EXPECT_EQ(num_launches(), 2U);
}

}  // namespace
}  // namespace underlap
