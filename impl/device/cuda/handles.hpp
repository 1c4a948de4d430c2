// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace underlap::cuda {

/// Releases a handle with the library's own function. The result is ignored: an earlier error is reported at the next
/// wait.
template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const noexcept {
    (void)Destroy(handle);
  }
};

/// The only owner of a handle.
template <class T, auto Destroy>
using Handle = std::unique_ptr<T, Destroyer<Destroy>>;

using StreamHandle = Handle<CUstream_st, cudaStreamDestroy>;
using EventHandle = Handle<CUevent_st, cudaEventDestroy>;
using PoolHandle = Handle<CUmemPoolHandle_st, cudaMemPoolDestroy>;
using DeviceBytes = Handle<std::byte, cudaFree>;
using PinnedBytes = Handle<std::byte, cudaFreeHost>;

/// Returns memory to its pool, in the order of one stream.
struct FreeOnStream {
  CUstream_st* stream = nullptr;
  void operator()(std::byte* memory) const noexcept { (void)cudaFreeAsync(memory, stream); }
};
using StreamOrderedBytes = std::unique_ptr<std::byte, FreeOnStream>;

/// A stream that does not wait for the default stream. Throws MachineError.
StreamHandle make_stream(int priority);

/// An event without a time. Throws MachineError.
EventHandle make_event();

/// An event that records the time when it passed. Throws MachineError.
EventHandle make_timing_event();

/// As cudaEventQuery and cudaStreamQuery, but clears the error: the runtime also stores "not ready" as this thread's
/// last error, and the next launch would appear refused.
cudaError_t query(CUevent_st* event) noexcept;
cudaError_t query(CUstream_st* stream) noexcept;

/// `bytes` bytes of device memory, which an IPC handle can expose. Throws MachineError.
DeviceBytes make_device_bytes(std::size_t bytes);

/// `bytes` bytes of host memory that copy engines read directly. Throws MachineError.
PinnedBytes make_pinned(std::size_t bytes);

}  // namespace underlap::cuda
