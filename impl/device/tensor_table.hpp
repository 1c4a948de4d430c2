// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap {

/// A transfer with the memory of its views.
struct BoundTransfer {
  Transfer transfer;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// The tensors of one device: their names, and their memory. It checks every view against its tensor, with the same
/// messages on every backend. The caller that adds memory owns it.
class TensorTable {
 public:
  /// Gives the next tensor its identity. Throws std::invalid_argument for a negative number of elements.
  Tensor add(std::string_view name, DataType dtype, std::int64_t elements, std::byte* data);

  std::size_t size() const { return entries_.size(); }

  /// Throws std::invalid_argument naming tensor and view where `view` does not lie inside its tensor.
  void check(const View& view) const;

  /// Checks every use, and that no two overlap of which one is written.
  void check_uses(const Operation& operation) const;

  /// Checks the view of an upload or a download (`what`): dense, and of exactly `bytes` bytes.
  void check_copy(std::string_view what, const View& view, std::size_t bytes) const;

  /// A view that was checked, with its memory.
  BoundView bind(const View& view) const;

  /// A transfer with its memory, after a check; nullptr for a view without elements.
  BoundTransfer bind(const Transfer& transfer) const;

 private:
  struct Entry {
    Tensor tensor;
    std::string name;
    std::byte* data = nullptr;
  };
  std::vector<Entry> entries_;  // by tensor id - 1
};

}  // namespace underlap
