// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "kernels/operation.hpp"
#include "kernels/vocab_shard.hpp"

namespace underlap::kernels {

/// What an operation asks of one of its views.
struct Expected {
  std::string_view name;  ///< of the view, as the operation's documentation has it
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::initializer_list<DataType> types;
};

/// Throws std::invalid_argument naming operation, view, its shape and the shape it must have, unless `view` is
/// as expected, is not empty, lies inside its tensor, and has rows that do not run into each other.
void require(std::string_view operation, const View& view, const Expected& expected);

/// A view that an operation touches, how, and what it must be.
struct Operand {
  const View& view;
  Access access;
  Expected expected;
  bool is_optional = false;  ///< without a tensor it is left out
};

/// The operation on `operands`. `cost` without bytes gets those of all operands: each moves once, `inout` twice.
/// Throws as require() does.
Operation make_operation(NameId name, CpuImplementation cpu, Cost cost, std::initializer_list<Operand> operands);

/// The cost of a norm over the rows of x with that many operations for each element, without bytes.
Cost norm_cost(double flops, const View& x);

/// Throws std::invalid_argument saying "`operation`: `what` is `value`, must be `limit`" unless `holds`.
void require(std::string_view operation, bool holds, std::string_view what, double value, std::string_view limit);

/// Throws std::invalid_argument naming both values unless `value` is a positive multiple of `unit`.
void require_multiple(std::string_view operation, std::string_view what, std::int64_t value, std::string_view unit_name,
                      std::int64_t unit);

/// `shard` with the size of its vocabulary, which is `entries` where the table is whole. Throws std::invalid_argument
/// unless its `entries` entries lie in the vocabulary.
VocabShard checked_shard(std::string_view operation, const VocabShard& shard, std::int64_t entries);

/// For implementations: throws std::invalid_argument unless 0 <= index < limit, naming its position.
void require_index(std::string_view operation, std::string_view what, std::int64_t index, std::int64_t position,
                   std::int64_t limit);

}  // namespace underlap::kernels
