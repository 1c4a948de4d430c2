// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/operation.hpp"

namespace underlap {

/// A view's own memory for the time of one use, with guards around it and between its rows.
///
/// `in` and `inout` start as copies of the source. `out`, the gaps between rows and a zone on both sides are filled
/// with a pattern that is NaN in every floating-point type.
class PrivateCopy {
 public:
  PrivateCopy(const BoundView& source, Access access);

  /// The copy, laid out as the source is. Valid as long as this.
  BoundView view();

  /// Whether anything was written that may not be: a guard, or any of an `in` view.
  bool wrote_elsewhere();

  /// Copies what may have been written to the source.
  void write_back();

  /// Fills what write_back() would copy with the pattern.
  void poison();

 private:
  template <class Function>
  void each_row(Function function);

  BoundView source_;
  Access access_;
  std::size_t row_bytes_;
  std::size_t stride_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> before_;
};

/// The private copies of an operation's views, in declared order.
std::vector<PrivateCopy> private_copies(const Operation& operation, std::span<const BoundView> views);

/// Runs the operation's CPU implementation on `copies`, so that an implementation that reads undeclared elements finds
/// NaN. Only the copies are accessed. Throws std::logic_error naming the operation and the use if it wrote outside its
/// declared elements.
void run_on_copies(const Operation& operation, std::span<PrivateCopy> copies);

/// Runs an operation's CPU implementation on private copies of its views instead of the memory of `views`, and writes
/// the results back.
void run_guarded(const Operation& operation, std::span<const BoundView> views);

}  // namespace underlap
