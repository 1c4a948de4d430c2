// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/arena.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

constexpr std::int64_t kGrain = 256;
constexpr std::int64_t kDriverPage = 2 << 20;
constexpr std::int64_t kBlockBytes = 8 * kDriverPage;  // of small tensors; a larger tensor has its own block

std::string in_words(std::int64_t bytes) {
  return fmt::format("{} bytes ({:.2f} GB)", bytes, static_cast<double>(bytes) / 1e9);
}

PoolHandle make_pool(int device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = device};
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &properties));
  PoolHandle handle(pool);
  std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
  int no = 0;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no));
  return handle;
}

}  // namespace

Arena::Arena(int device, std::int32_t rank, bool peers_map_tensors)
    : rank_(rank),
      device_(device),
      peers_map_tensors_(peers_map_tensors),
      pool_(make_pool(device)),
      stream_(make_stream(0)) {}

// Synchronize first: a pool destroyed during a free returns its memory later, perhaps after the next pool asks for it.
Arena::~Arena() {
  tensors_.clear();
  (void)cudaStreamSynchronize(stream_.get());
}

std::byte* Arena::allocate(std::string_view name, std::int64_t bytes) {
  const std::int64_t rounded = (std::max<std::int64_t>(bytes, 1) + kGrain - 1) / kGrain * kGrain;
  std::byte* memory = nullptr;
  if (peers_map_tensors_) {
    memory = allocate_in_block(name, rounded);
  } else {
    memory = allocate_on(stream_.get(), name, rounded);
    tensors_.emplace_back(memory, FreeOnStream{stream_.get()});
  }
  fill(memory, rounded);
  return memory;
}

void Arena::fill(std::byte* memory, std::int64_t bytes) {
  check(cudaMemsetAsync(memory, kNaN, static_cast<std::size_t>(bytes), stream_.get()));
  filled_.push_back({memory, bytes});
  taken_ += bytes;
}

void Arena::set_all(int byte) {
  for (const MemoryBlock& tensor : filled_)
    check(cudaMemsetAsync(tensor.base, byte, static_cast<std::size_t>(tensor.bytes), stream_.get()));
}

// Check here, because a library's own error for missing memory only shows that the driver refused.
void Arena::check_room(std::string_view name, std::int64_t bytes) const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  if (static_cast<std::int64_t>(free) < bytes) refuse(name, bytes);
}

void Arena::reserve(std::int64_t bytes) { take(bytes, stream_.get()); }

StreamOrderedBytes Arena::take(std::int64_t bytes, CUstream_st* stream) {
  return {allocate_on(stream, "workspace", bytes), FreeOnStream{stream}};
}

std::byte* Arena::allocate_in_block(std::string_view name, std::int64_t bytes) {
  std::size_t i = 0;
  while (i < blocks_.size() && used_[i] + bytes > blocks_[i].bytes) ++i;
  if (i == blocks_.size()) {
    const std::int64_t whole = std::max((bytes + kDriverPage - 1) / kDriverPage * kDriverPage, kBlockBytes);
    void* memory = nullptr;
    const cudaError_t result = cudaMalloc(&memory, static_cast<std::size_t>(whole));
    if (result == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      refuse(name, whole);
    }
    check(result);
    block_memory_.emplace_back(static_cast<std::byte*>(memory));
    blocks_.push_back({static_cast<std::byte*>(memory), whole});
    used_.push_back(0);
  }
  return blocks_[i].base + std::exchange(used_[i], used_[i] + bytes);
}

std::byte* Arena::allocate_on(CUstream_st* stream, std::string_view name, std::int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t result = cudaMallocFromPoolAsync(&memory, static_cast<std::size_t>(bytes), pool_.get(), stream);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // otherwise the next launch would report this error
    refuse(name, bytes);
  }
  check(result);
  return static_cast<std::byte*>(memory);
}

void Arena::refuse(std::string_view name, std::int64_t bytes) const {
  std::size_t free = 0;
  std::size_t total = 0;
  (void)cudaMemGetInfo(&free, &total);
  throw OutOfDeviceMemory(
      fmt::format(
          "rank {}: out of memory for tensor {} of {} on GPU {}: its tensors so far take {}, and {} of {} are free",
          rank_, name, in_words(bytes), device_, in_words(taken_), in_words(static_cast<std::int64_t>(free)),
          in_words(static_cast<std::int64_t>(total))),
      taken_ + static_cast<std::int64_t>(free));
}

std::byte* StreamWorkspace::take(std::int64_t bytes) {
  if (bytes > size_) {
    memory_.reset();
    size_ = 0;
    memory_ = arena_.take(bytes, stream_);
    size_ = bytes;
  }
  return memory_.get();
}

}  // namespace underlap::cuda
