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

/// A rank's device memory: one stream-ordered pool, from which tensors are taken before begin() and workspaces as
/// operations ask for them. Each tensor is an allocation of its own, so that compute-sanitizer sees a step over its
/// end.
///
/// The pool never gives memory back to the driver, and never lets an allocation on one stream wait for a free on
/// another (which would be an order between streams that no program asked for).
///
/// Where peers are to map the tensors, they lie in blocks that are taken from the driver one by one: memory of a pool
/// has no IPC handle, and a handle of less than a page of the driver's would show its neighbours as well.
class Arena {
 public:
  /// `rank` is for messages. Throws MachineError.
  Arena(int device, std::int32_t rank, bool peers_map_tensors = false);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  static constexpr int kNaN = 0xFF;  ///< of every byte of a NaN

  /// Returns memory filled with ones, which is NaN in every floating-point type; it is filled once the arena's stream
  /// has got there. Owned by the arena, aligned to 256 bytes.
  /// Throws MachineError naming the tensor, its size, what is taken already and what is free.
  std::byte* allocate(std::string_view name, std::int64_t bytes);

  /// The same in memory that `source(bytes)` returns: a transport's, for tensors that it registers.
  template <class Source>
  std::byte* allocate_from(std::string_view name, std::int64_t bytes, Source source) {
    check_room(name, bytes);
    LibraryBytes memory = source(bytes);
    if (memory == nullptr) return allocate(name, bytes);
    std::byte* const data = library_memory_.emplace_back(std::move(memory)).get();
    fill(data, bytes);
    return data;
  }

  /// Sets every byte of all tensors, once the arena's stream has got there.
  void set_all(int byte);

  /// Has the pool take `bytes` from the driver now, for workspaces to come.
  void reserve(std::int64_t bytes);

  /// Memory in the order of `stream`, of any contents. Throws MachineError.
  StreamOrderedBytes take(std::int64_t bytes, CUstream_st* stream);

  /// The memory of all tensors; nothing unless peers are to map it.
  std::span<const MemoryBlock> blocks() const { return blocks_; }
  std::int64_t taken() const { return taken_; }  ///< bytes, by tensors

  /// The stream that fills new tensors, and that carries the device's own small copies.
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

/// A stream's scratch memory: it grows to the largest that an operation asked for and stays.
///
/// Growing frees the old memory and takes new memory, both in the order of the stream, so no earlier operation loses
/// what it still uses and the host waits for nothing. It cannot hang beside a collective that spins: neither
/// cudaFreeAsync nor cudaMallocFromPoolAsync waits for a kernel. The pool keeps what is freed, so there is no cudaFree
/// (which would wait for the whole device) behind it, and it may not make this stream wait for another one.
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
