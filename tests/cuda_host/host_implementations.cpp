// SPDX-License-Identifier: Apache-2.0
// run_implementation on the machine of queues.
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/implementations.hpp"
#include "kernels/gemm/matrix_products.hpp"
#include "tests/cuda_host/cublaslt_double.hpp"
#include "tests/kernels/run_operation.hpp"

namespace underlap::test {
namespace {

/// Memory of one operation, filled with NaN each time it is taken.
class TestWorkspace final : public cuda::Workspace {
 public:
  std::byte* take(std::int64_t bytes) override {
    blocks_.emplace_back(static_cast<std::size_t>(bytes + 255), std::byte{0xFF});
    void* begin = blocks_.back().data();
    std::size_t space = blocks_.back().size();
    return static_cast<std::byte*>(std::align(256, static_cast<std::size_t>(bytes), begin, space));
  }

 private:
  std::vector<std::vector<std::byte>> blocks_;
};

}  // namespace

// A fault that a kernel reports is thrown as the CPU implementation throws it.
void run_implementation(const Operation& operation, std::span<const BoundView> views) {
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  TestWorkspace workspace;
  std::uint32_t faults = 0;
  cuda::MatrixProducts products(cuda_host::CublasLtDouble::api());
  cuda::LaunchContext context{
      .stream = stream, .num_sms = 4, .workspace = &workspace, .faults = &faults, .products = &products};
  cuda::cuda_implementation(operation.name())(Arguments(views, operation.parameters()), context);
  cuda::check(cudaStreamSynchronize(stream));
  cuda::check(cudaStreamDestroy(stream));
  if (faults != 0) throw std::invalid_argument("a kernel met an index outside its table");
}

}  // namespace underlap::test
