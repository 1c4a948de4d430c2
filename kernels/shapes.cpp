// SPDX-License-Identifier: Apache-2.0
#include "kernels/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace underlap::kernels {
namespace {

std::string join(std::initializer_list<DataType> types) {
  std::string text;
  for (const DataType type : types) text += (text.empty() ? "" : " or ") + std::string(to_string(type));
  return text;
}

bool lies_inside_its_tensor(const View& view) {
  return view.tensor.id != 0 && view.offset >= 0 && view.end() <= view.tensor.elements;
}

}  // namespace

void require(std::string_view operation, const View& view, const Expected& expected) {
  const bool type_fits = std::ranges::find(expected.types, view.tensor.dtype) != expected.types.end();
  if (view.rows != expected.rows || view.cols != expected.cols || !type_fits || view.rows < 1 || view.cols < 1) {
    throw std::invalid_argument(fmt::format("{}: {} is [{}, {}] {}, must be [{}, {}] {} and not empty", operation,
                                            expected.name, view.rows, view.cols, to_string(view.tensor.dtype),
                                            expected.rows, expected.cols, join(expected.types)));
  }
  if (view.rows > 1 && view.leading_dimension < view.cols) {
    throw std::invalid_argument(fmt::format("{}: {} has leading dimension {}, must be at least its {} columns",
                                            operation, expected.name, view.leading_dimension, view.cols));
  }
  if (!lies_inside_its_tensor(view)) {
    throw std::invalid_argument(fmt::format("{}: {} covers elements {} to {} of tensor {}, which has {}", operation,
                                            expected.name, view.offset, view.end(), view.tensor.id,
                                            view.tensor.elements));
  }
}

void require(std::string_view operation, bool holds, std::string_view what, double value, std::string_view limit) {
  if (!holds) throw std::invalid_argument(fmt::format("{}: {} is {}, must be {}", operation, what, value, limit));
}

void require_multiple(std::string_view operation, std::string_view what, std::int64_t value, std::string_view unit_name,
                      std::int64_t unit) {
  if (unit > 0 && value > 0 && value % unit == 0) return;
  throw std::invalid_argument(
      fmt::format("{}: {} is {}, must be a positive multiple of {} {}", operation, what, value, unit_name, unit));
}

VocabShard checked_shard(std::string_view operation, const VocabShard& shard, std::int64_t entries) {
  const std::int64_t vocab_size = shard.vocab_size == 0 ? entries : shard.vocab_size;
  if (shard.first >= 0 && shard.first <= vocab_size - entries) return {shard.first, vocab_size};
  throw std::invalid_argument(fmt::format("{}: entries {} to {} are outside a vocabulary of {}", operation, shard.first,
                                          shard.first + entries, vocab_size));
}

void require_index(std::string_view operation, std::string_view what, std::int64_t index, std::int64_t position,
                   std::int64_t limit) {
  if (index >= 0 && index < limit) return;
  throw std::invalid_argument(
      fmt::format("{}: {} {} at position {} is outside [0, {})", operation, what, index, position, limit));
}

}  // namespace underlap::kernels
