// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace underlap::sim {

/// A queue in one piece of memory, which only grows: at its maximum length it no longer allocates. Pushing moves
/// elements, so references to them do not stay valid.
template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// The element `i` places after the front.
  T& operator[](std::size_t i) { return slots_[(first_ + i) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return slots_[(first_ + i) & (slots_.size() - 1)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }

  void push_back(const T& value) {
    if (size_ == slots_.size()) grow();
    (*this)[size_++] = value;
  }
  void pop_front() {
    first_ = (first_ + 1) & (slots_.size() - 1);
    --size_;
  }

 private:
  void grow() {
    constexpr std::size_t kFirst = 16;
    std::vector<T> larger(slots_.empty() ? kFirst : 2 * slots_.size());  // a power of two
    for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    slots_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace underlap::sim
