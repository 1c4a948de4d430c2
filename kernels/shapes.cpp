// SPDX-License-Identifier: Apache-2.0
#include "kernels/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
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

/// Why `view` is not as expected; empty if it is.
std::string problem_of(const View& view, const Expected& expected) {
  const bool type_fits = std::ranges::find(expected.types, view.tensor.dtype) != expected.types.end();
  if (view.rows != expected.rows || view.cols != expected.cols || !type_fits || view.rows < 1 || view.cols < 1)
    return fmt::format("{} is [{}, {}] {}, must be [{}, {}] {} and not empty", expected.name, view.rows, view.cols,
                       to_string(view.tensor.dtype), expected.rows, expected.cols, join(expected.types));
  if (view.rows > 1 && view.leading_dimension < view.cols)
    return fmt::format("{} has leading dimension {}, must be at least its {} columns", expected.name,
                       view.leading_dimension, view.cols);
  if (!lies_inside_its_tensor(view))
    return fmt::format("{} covers elements {} to {} of tensor {}, which has {}", expected.name, view.offset, view.end(),
                       view.tensor.id, view.tensor.elements);
  return {};
}

}  // namespace

void require(std::string_view operation, const View& view, const Expected& expected) {
  if (const std::string problem = problem_of(view, expected); !problem.empty())
    throw std::invalid_argument(fmt::format("{}: {}", operation, problem));
}

Operation make_operation(NameId name, CpuImplementation cpu, Cost cost, std::initializer_list<Operand> operands) {
  std::array<Use, Operation::kMaxUses> uses;
  std::size_t count = 0;
  std::int64_t read = 0, written = 0;
  for (const auto& [view, access, expected, is_optional] : operands) {
    if (is_optional && view.tensor.id == 0) continue;
    if (const std::string problem = problem_of(view, expected); !problem.empty())
      throw std::invalid_argument(fmt::format("{}: {}", name_of(name), problem));
    if (access != Access::out) read += view.bytes();
    if (access != Access::in) written += view.bytes();
    uses.at(count++) = {view, access};
  }
  if (cost.bytes_read == 0 && cost.bytes_written == 0) cost.bytes_read = read, cost.bytes_written = written;
  return Operation(name, cpu, cost, std::span(uses).first(count));
}

Cost norm_cost(double flops, const View& x) {
  return {.flops = flops * static_cast<double>(x.elements()), .work = Work::norm, .extent = {x.rows, x.cols, 1}};
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
