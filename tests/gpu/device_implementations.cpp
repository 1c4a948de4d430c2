// SPDX-License-Identifier: Apache-2.0
// run_implementation on a real GPU: views travel there with a margin of their guards, and back.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/implementations.hpp"
#include "tests/gpu/libraries.hpp"
#include "tests/kernels/run_operation.hpp"

namespace underlap::test {
namespace {

struct FreeDevice {
  void operator()(std::byte* memory) const { cudaFree(memory); }
};
using DeviceBytes = std::unique_ptr<std::byte[], FreeDevice>;

DeviceBytes device_bytes(std::size_t bytes) {
  void* memory = nullptr;
  cuda::check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)));
  cuda::check(cudaMemset(memory, 0xFF, bytes));
  return DeviceBytes(static_cast<std::byte*>(memory));
}

class TestWorkspace final : public cuda::Workspace {
 public:
  std::byte* take(std::int64_t bytes) override {
    blocks_.push_back(device_bytes(static_cast<std::size_t>(bytes)));
    return blocks_.back().get();
  }

 private:
  std::vector<DeviceBytes> blocks_;
};

/// A view's memory on the device, with the guards around it, at the same place within 256 bytes as on the host.
class DeviceView {
 public:
  explicit DeviceView(const BoundView& view) : view_(view) {
    const std::int64_t size = size_of(view.dtype);
    const std::int64_t elements = view.rows == 0 ? 0 : (view.rows - 1) * view.leading_dimension + view.cols;
    host_begin_ = view.data - kMargin * size;
    bytes_ = static_cast<std::size_t>((elements + 2 * kMargin) * size);
    const std::size_t shift = reinterpret_cast<std::uintptr_t>(host_begin_) % 256;
    memory_ = device_bytes(bytes_ + shift);
    begin_ = memory_.get() + shift;
    cuda::check(cudaMemcpy(begin_, host_begin_, bytes_, cudaMemcpyHostToDevice));
  }

  BoundView on_device() const {
    BoundView view = view_;
    view.data = begin_ + (view_.data - host_begin_);
    return view;
  }

  void copy_back() const { cuda::check(cudaMemcpy(host_begin_, begin_, bytes_, cudaMemcpyDeviceToHost)); }

 private:
  static constexpr std::int64_t kMargin = 32;  // GuardedView keeps at least this many elements on either side

  BoundView view_;
  std::byte* host_begin_ = nullptr;
  std::size_t bytes_ = 0;
  DeviceBytes memory_;
  std::byte* begin_ = nullptr;
};

}  // namespace

void run_implementation(const Operation& operation, std::span<const BoundView> views) {
  std::vector<DeviceView> on_device(views.begin(), views.end());
  std::vector<BoundView> bound;
  for (const DeviceView& view : on_device) bound.push_back(view.on_device());
  const DeviceBytes faults = device_bytes(sizeof(std::uint32_t));
  cuda::check(cudaMemset(faults.get(), 0, sizeof(std::uint32_t)));
  TestWorkspace workspace;
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cuda::check(cudaDeviceSynchronize());  // the copies above ran on another stream
  cuda::LaunchContext context = gpu::context_with_libraries();
  context.stream = stream;
  context.workspace = &workspace;
  context.faults = reinterpret_cast<std::uint32_t*>(faults.get());
  cuda::cuda_implementation(operation.name())(Arguments(bound, operation.parameters()), context);
  cuda::check(cudaStreamSynchronize(stream));
  cuda::check(cudaStreamDestroy(stream));
  std::uint32_t found = 0;
  cuda::check(cudaMemcpy(&found, faults.get(), sizeof found, cudaMemcpyDeviceToHost));
  for (const DeviceView& view : on_device) view.copy_back();
  if (found != 0) throw std::invalid_argument("a kernel met an index outside its table");
}

}  // namespace underlap::test
