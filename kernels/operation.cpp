// SPDX-License-Identifier: Apache-2.0
#include "kernels/operation.hpp"

#include <algorithm>

namespace underlap {

View flat(const Tensor& tensor) { return flat(tensor, 0, tensor.elements); }

View flat(const Tensor& tensor, std::int64_t offset, std::int64_t elements) {
  return {.tensor = tensor, .offset = offset, .rows = 1, .cols = elements, .leading_dimension = elements};
}

View matrix(const Tensor& tensor, std::int64_t rows, std::int64_t cols, std::int64_t offset) {
  return {.tensor = tensor, .offset = offset, .rows = rows, .cols = cols, .leading_dimension = cols};
}

namespace {

/// Whether `view` has an element in [begin, end) of its tensor.
bool contains_any(const View& view, std::int64_t begin, std::int64_t end) {
  if (begin >= end || begin >= view.end() || end <= view.offset) return false;
  if (view.is_dense()) return true;
  // The row that begins last before `end` decides: those before it end earlier.
  const std::int64_t row = std::min((end - 1 - view.offset) / view.leading_dimension, view.rows - 1);
  return view.offset + row * view.leading_dimension + view.cols > begin;
}

}  // namespace

// Where both are strided, one may lie in the gaps of the other: then each row of a is looked up in b.
bool overlap(const View& a, const View& b) {
  if (a.tensor.id != b.tensor.id || a.elements() == 0 || b.elements() == 0) return false;
  if (a.end() <= b.offset || b.end() <= a.offset) return false;
  if (a.is_dense()) return contains_any(b, a.offset, a.end());
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t begin = a.offset + row * a.leading_dimension;
    if (contains_any(b, begin, begin + a.cols)) return true;
  }
  return false;
}

}  // namespace underlap
