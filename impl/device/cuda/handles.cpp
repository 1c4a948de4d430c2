// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/handles.hpp"

#include "kernels/cuda/check.hpp"

namespace underlap::cuda {

StreamHandle make_stream(int priority) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return StreamHandle(stream);
}

EventHandle make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return EventHandle(event);
}

EventHandle make_timing_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault));
  return EventHandle(event);
}

namespace {

cudaError_t forgotten_if_not_ready(cudaError_t result) noexcept {
  if (result == cudaErrorNotReady) (void)cudaGetLastError();
  return result;
}

}  // namespace

cudaError_t query(CUevent_st* event) noexcept { return forgotten_if_not_ready(cudaEventQuery(event)); }

cudaError_t query(CUstream_st* stream) noexcept { return forgotten_if_not_ready(cudaStreamQuery(stream)); }

DeviceBytes make_device_bytes(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes));
  return DeviceBytes(static_cast<std::byte*>(memory));
}

PinnedBytes make_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes));
  return PinnedBytes(static_cast<std::byte*>(memory));
}

}  // namespace underlap::cuda
