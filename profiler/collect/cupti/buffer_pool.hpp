// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace underlap::cupti {

/// Equal buffers that are lent to CUPTI and come back.
///
/// take() and give_back() are called inside CUPTI's callbacks, on threads of CUPTI and of the program: they throw
/// nothing, and allocate nothing but a buffer that is really new.
class BufferPool {
 public:
  /// Allocates and touches `initial` buffers of `bytes` each; never more than `most` in all.
  /// Throws std::invalid_argument unless 0 < initial <= most and bytes > 0.
  BufferPool(std::size_t bytes, std::size_t initial, std::size_t most);
  /// Frees the buffers that came back. One that CUPTI still holds is left to it: it may write to it at any time.
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// A buffer of bytes(), aligned to 8 bytes and more; nullptr where `most` are lent already or memory is out.
  std::uint8_t* take() noexcept;
  void give_back(std::uint8_t* buffer) noexcept;

  /// Whether take() gave this buffer out, now or before.
  bool owns(const std::uint8_t* buffer) const noexcept;
  std::size_t bytes() const { return bytes_; }

 private:
  const std::size_t bytes_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<std::uint8_t*> all_;  // room for most_ from the start, here and below
  std::vector<std::uint8_t*> free_;
};

}  // namespace underlap::cupti
