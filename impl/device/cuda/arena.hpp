// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "impl/device/cuda/handles.hpp"
#include "impl/device/cuda/transport.hpp"
#include "kernels/cuda/launch_context.hpp"

namespace underlap::cuda {

/// A rank's device memory: one stream-ordered pool. Tensors are allocated before begin(), workspaces when operations
/// ask for them. Each tensor is a separate allocation, so that compute-sanitizer detects accesses past its end.
///
/// The pool never returns memory to the driver. It never makes an allocation on one stream wait for a free on another,
/// which would order streams without a request by the program.
///
/// If peers map the tensors, the tensors are in blocks that are allocated from the driver one by one. Pool memory has
/// no IPC handle, and a handle of less than a driver page would also expose neighboring memory.
class Arena {
 public:
  /// `rank` is for messages. Throws MachineError.
  Arena(int device, std::int32_t rank, bool peers_map_tensors = false);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  static constexpr int kNaN = 0xFF;  ///< value of every byte of a NaN

  /// Returns memory filled with ones, which is NaN in every floating-point type; the arena's stream fills it. Owned by
  /// the arena, aligned to 256 bytes.
  ///
  /// Throws MachineError with the tensor's name and size, and the taken and free memory.
  std::byte* allocate(std::string_view name, std::int64_t bytes);

  /// The same in memory that `source(bytes)` returns: the transport's memory, for tensors that it registers.
  template <class Source>
  std::byte* allocate_from(std::string_view name, std::int64_t bytes, Source source) {
    check_room(name, bytes);
    LibraryBytes memory = source(bytes);
    if (memory == nullptr) return allocate(name, bytes);
    std::byte* const data = library_memory_.emplace_back(std::move(memory)).get();
    fill(data, bytes);
    return data;
  }

  /// Sets every byte of all tensors, on the arena's stream.
  void set_all(int byte);

  /// Makes the pool allocate `bytes` from the driver now, for later workspaces.
  void reserve(std::int64_t bytes);

  /// Memory in the order of `stream`, uninitialized. Throws MachineError.
  StreamOrderedBytes take(std::int64_t bytes, CUstream_st* stream);

  /// The memory of all tensors; empty unless peers map it.
  std::span<const MemoryBlock> blocks() const { return blocks_; }
  std::int64_t taken() const { return taken_; }  ///< bytes used by tensors

  /// The stream that fills new tensors and runs the device's own small copies.
  CUstream_st* stream() const { return stream_.get(); }

 private:
  void check_room(std::string_view name, std::int64_t bytes) const;
  void fill(std::byte* memory, std::int64_t bytes);
  [[noreturn]] void refuse(std::string_view name, std::int64_t bytes) const;
  std::byte* allocate_on(CUstream_st* stream, std::string_view name, std::int64_t bytes);
  std::byte* allocate_in_block(std::string_view name, std::int64_t bytes);

  std::int32_t rank_;
  int device_;
  bool peers_map_tensors_;
  std::int64_t taken_ = 0;  // by tensors
  PoolHandle pool_;
  StreamHandle stream_;
  std::vector<StreamOrderedBytes> tensors_;  // after stream_, in whose order they are freed
  std::vector<LibraryBytes> library_memory_;
  std::vector<MemoryBlock> filled_;  // by tensor
  std::vector<DeviceBytes> block_memory_;
  std::vector<MemoryBlock> blocks_;
  std::vector<std::int64_t> used_;  // bytes of each block
};

/// A stream's scratch memory. It grows to the largest size that an operation asked for and keeps it.
///
/// Growing frees the old memory and allocates new memory, both in the order of the stream. Earlier operations keep the
/// memory that they use, and the host does not wait. It cannot hang during a collective that spins, because neither
/// cudaFreeAsync nor cudaMallocFromPoolAsync waits for a kernel. The pool keeps freed memory, so no cudaFree follows,
/// which would wait for the whole device. The pool may not make this stream wait for another one.
class StreamWorkspace final : public Workspace {
 public:
  StreamWorkspace(Arena& arena, CUstream_st* stream) : arena_(arena), stream_(stream) {}

  std::byte* take(std::int64_t bytes) override;

 private:
  Arena& arena_;
  CUstream_st* stream_;
  std::int64_t size_ = 0;
  StreamOrderedBytes memory_;
};

}  // namespace underlap::cuda
